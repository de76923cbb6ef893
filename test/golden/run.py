#!/usr/bin/env python3
"""Golden tests of optimizer passes.

A case is a file test/golden/<pass>/<name>.mcc: a comment `// RUN: <options of mcc opt>`, a graph in
text form, and after it `// CHECK: ` lines that hold the expected output of `mcc opt`, all of it.

  run.py --mcc build/dev/tools/mcc              run every case
  run.py --mcc ... --update [FILE...]           write the CHECK lines anew; review the diff
Exit code 0 when all cases pass, 1 when one fails, 2 for wrong usage.
"""
import argparse
import difflib
import pathlib
import shlex
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
RUN, CHECK = "// RUN:", "// CHECK:"


def split(text):
    """The options, the lines before the checks, and the expected lines of a case."""
    options, source, expected = None, [], []
    for line in text.splitlines():
        if line.startswith(CHECK):
            expected.append(line[len(CHECK):].removeprefix(" "))
            continue
        if line.startswith(RUN):
            options = shlex.split(line[len(RUN):])
        source.append(line)
    while source and not source[-1]:
        source.pop()
    return options, source, expected


def actual(mcc, options, path):
    result = subprocess.run([mcc, "opt", *options, str(path)], capture_output=True, text=True, timeout=60)
    lines = result.stdout.splitlines()
    if result.returncode != 0:
        lines += [f"exit code {result.returncode}", *result.stderr.splitlines()]
    return lines


def run_case(mcc, path, update):
    text = path.read_text()
    options, source, expected = split(text)
    if options is None:
        print(f"{path}: no '{RUN}' line")
        return False
    lines = actual(mcc, options, path)
    if update:
        checks = [f"{CHECK} {line}".rstrip() for line in lines]
        path.write_text("\n".join([*source, "", *checks]) + "\n")
        return True
    if not expected:
        print(f"{path}: no '{CHECK}' lines; write them with --update")
        return False
    # --update strips trailing blanks; so does the comparison.
    lines = [line.rstrip() for line in lines]
    expected = [line.rstrip() for line in expected]
    if lines == expected:
        return True
    print(f"{path.relative_to(HERE)} differs:")
    print("\n".join(difflib.unified_diff(expected, lines, "expected", "actual", lineterm="")))
    return False


def main():
    parser = argparse.ArgumentParser(description="golden tests of optimizer passes")
    parser.add_argument("--mcc", required=True, help="the mcc executable")
    parser.add_argument("--update", action="store_true", help="write the CHECK lines anew")
    parser.add_argument("files", nargs="*", type=pathlib.Path, help="cases (default: all)")
    arguments = parser.parse_args()
    files = sorted(arguments.files or HERE.glob("*/*.mcc"))
    if not files:
        print("no cases found")
        return 2
    failed = [path for path in files if not run_case(arguments.mcc, path.resolve(), arguments.update)]
    print(f"{len(files) - len(failed)} of {len(files)} golden cases {'written' if arguments.update else 'pass'}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
