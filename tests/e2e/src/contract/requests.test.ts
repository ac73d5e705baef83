import { testCases } from '../../test/contract-case.js';
import { REQUEST_CASES } from '../../test/contract-request-cases.js';

testCases(REQUEST_CASES);
