import { testCases } from '../../test/contract-case.js';
import { ENDPOINT_CASES } from '../../test/contract-endpoint-cases.js';
import { LIST_CASES } from '../../test/contract-list-cases.js';

testCases([...ENDPOINT_CASES, ...LIST_CASES]);
