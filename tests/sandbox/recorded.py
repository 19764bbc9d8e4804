"""What tools print that are not installed wherever the tests run: each a short run of the tool on a wrong `add`."""

from __future__ import annotations

JEST = """\
 FAIL  ./sum.test.js
  ✓ keeps zero (1 ms)
  ✕ adds 1 + 2 to equal 3 (3 ms)

  ● adds 1 + 2 to equal 3

    expect(received).toBe(expected) // Object.is equality

    Expected: 3
    Received: -1

      4 | test('adds 1 + 2 to equal 3', () => {
    > 5 |   expect(sum(1, 2)).toBe(3);
        |                     ^
      6 | });

      at Object.toBe (sum.test.js:5:21)
      at processTicksAndRejections (node:internal/process/task_queues:95:5)

  ● sum › refuses text

    TypeError: not a number

      1 | exports.sum = (a, b) => {
    > 2 |   throw new TypeError('not a number');
        |         ^

      at sum (sum.js:2:9)
      at Object.<anonymous> (sum.test.js:9:3)

Test Suites: 1 failed, 1 total
Tests:       2 failed, 1 passed, 3 total
Time:        0.412 s, estimated 1 s
"""

GO = """\
--- FAIL: TestAdd (0.00s)
    --- FAIL: TestAdd/small (0.00s)
        calc_test.go:12: Add(2, 3) = -1; want 5
--- FAIL: TestName (0.00s)
    calc_test.go:20: got "bob", want "ann"
FAIL
FAIL\texample.com/calc\t0.003s
FAIL
"""

GO_TESTIFY = """\
--- FAIL: TestAdd (0.00s)
    calc_test.go:11:\x20
        \tError Trace:\t/COPY/calc_test.go:11
        \tError:      \tNot equal:\x20
        \t            \texpected: 5
        \t            \tactual  : -1
        \tTest:       \tTestAdd
        \tMessages:   \ttwo and three
FAIL
exit status 1
FAIL\texample.com/calc\t0.004s
"""

GO_PANIC = """\
--- FAIL: TestRatio (0.00s)
panic: runtime error: integer divide by zero [recovered]
\tpanic: runtime error: integer divide by zero

goroutine 7 [running]:
testing.tRunner.func1.2({0x52e9c0, 0x6442b0})
\t/usr/local/go/src/testing/testing.go:1632 +0x230
example.com/calc.Ratio(...)
\t/COPY/calc.go:9
example.com/calc.TestRatio(0xc0000b6820)
\t/COPY/calc_test.go:24 +0x1c
FAIL\texample.com/calc\t0.004s
"""

GO_BUILD = """\
# example.com/calc
./calc.go:4:9: undefined: c
FAIL\texample.com/calc [build failed]
"""

CARGO = """\
   Compiling calc v0.1.0 (/COPY)
    Finished `test` profile [unoptimized + debuginfo] target(s) in 0.75s
     Running unittests src/lib.rs (target/debug/deps/calc-c6626fb655a8d231)

running 2 tests
test tests::it_adds ... FAILED
test tests::holds ... FAILED

failures:

---- tests::it_adds stdout ----

thread 'tests::it_adds' (22064) panicked at src/lib.rs:9:9:
assertion `left == right` failed
  left: -1
 right: 5
note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace

---- tests::holds stdout ----

thread 'tests::holds' panicked at src/lib.rs:13:9:
must hold

failures:
    tests::holds
    tests::it_adds

test result: FAILED. 0 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.08s
"""

RUSTC = """\
   Compiling calc v0.1.0 (/COPY)
error[E0308]: mismatched types
 --> src/lib.rs:2:5
  |
1 | pub fn add(a: i32, b: i32) -> i32 {
  |                               --- expected `i32` because of return type
2 |     "x"
  |     ^^^ expected `i32`, found `&str`

For more information about this error, try `rustc --explain E0308`.
error: could not compile `calc` (lib test) due to 1 previous error
"""

TSC = """\
src/calc.ts(3,10): error TS2322: Type 'string' is not assignable to type 'number'.
"""

NODE_TAP = """\
TAP version 13
# Subtest: adds
not ok 1 - adds
  ---
  duration_ms: 1.842009
  location: '/COPY/sum.test.js:3:1'
  failureType: 'testCodeFailure'
  error: |-
    Expected values to be strictly deep-equal:
  code: 'ERR_ASSERTION'
  name: 'AssertionError'
  expected:
    a: 2
    b: 3
  actual:
    a: 1
    b: 3
  operator: 'deepStrictEqual'
  stack: |-
    TestContext.<anonymous> (/COPY/sum.test.js:3:29)
    Test.run (node:internal/test_runner/test:796:25)
  ...
1..1
"""

NODE_SPEC = """\
✖ adds (1.857593ms)
  AssertionError [ERR_ASSERTION]: Expected values to be strictly equal:

✖ failing tests:

test at sum.test.js:3:1
✖ adds (1.857593ms)
  AssertionError [ERR_ASSERTION]: Expected values to be strictly equal:
 \x20
  -1 !== 3
 \x20
      at TestContext.<anonymous> (/COPY/sum.test.js:3:29)
      at Test.run (node:internal/test_runner/test:796:25) {
    generatedMessage: true,
    code: 'ERR_ASSERTION',
    actual: -1,
    expected: 3,
    operator: 'strictEqual'
  }

test at sum.test.js:4:1
✖ booms (0.11497ms)
  TypeError [Error]: boom
      at exports.boom (/COPY/sum.js:2:30)
      at TestContext.<anonymous> (/COPY/sum.test.js:4:23)
"""

NODE_PROGRAM = """\
/COPY/bad.js:1
const x = ;
          ^

SyntaxError: Unexpected token ';'
    at wrapSafe (node:internal/modules/cjs/loader:1464:18)
    at checkSyntax (node:internal/main/check_syntax:78:3)

Node.js v20.20.2
"""
