// Borrows places on a Redis server that has 40, prints their numbers, and returns the places when
// its input ends.
import { once } from 'node:events';
import { borrowServer } from '../dist/borrow-server.js';

const wanted = { server: 'redis', options: {}, places: 40 };
const borrowed = await Promise.all(Array.from({ length: Number(process.argv[2]) }, () => borrowServer(wanted)));
console.log(JSON.stringify(borrowed.map(({ place }) => place)));
await once(process.stdin.resume(), 'end');
await Promise.all(borrowed.map(({ stop }) => stop()));
