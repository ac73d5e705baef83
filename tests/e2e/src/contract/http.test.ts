import { testCases } from '../../test/contract-case.js';
import { HEADER_CASES } from '../../test/contract-header-cases.js';
import { PATH_CASES } from '../../test/contract-path-cases.js';

testCases([...PATH_CASES, ...HEADER_CASES]);
