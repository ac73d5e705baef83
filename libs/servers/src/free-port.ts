export { freePort, isPortFree } from '@gateway/service-kit/free-port';
