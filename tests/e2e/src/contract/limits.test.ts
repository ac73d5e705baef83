import { testCases } from '../../test/contract-case.js';
import { LIMIT_CASES } from '../../test/contract-limit-cases.js';

testCases(LIMIT_CASES);
