import { testCases } from '../../test/contract-case.js';
import { ERROR_CASES } from '../../test/contract-error-cases.js';

testCases(ERROR_CASES);
