import { AUTHENTICATION_CASES } from '../../test/contract-authentication-cases.js';
import { testCases } from '../../test/contract-case.js';

testCases(AUTHENTICATION_CASES);
