import { testCases } from '../../test/contract-case.js';
import { BILLING_CASES } from '../../test/contract-billing-cases.js';

testCases(BILLING_CASES);
