"""The checks of scripts/monitoring besides promtool. They need Python with PyYAML, and start in the repository's root.

check.py panels: prints the expressions of the dashboard as rules, so that promtool reads them.
check.py files: checks the metrics that rules and panels name, the alerts, their tests, and their runbooks.
check.py commands ASSENT: checks the commands of the runbooks with this binary.
"""

import json
import pathlib
import re
import shlex
import subprocess
import sys

import yaml

FOLDER = pathlib.Path("packaging/monitoring")
RUNBOOKS = pathlib.Path("docs/runbooks")
RUNBOOK_URL = "https://runbooks.example/"
# The names of the series of a metric, by its type.
SUFFIXES = {"gauge": [""], "counter": ["_total"], "histogram": ["_bucket", "_sum", "_count"]}
# Prometheus adds these labels, and the metric `up`.
TARGET_LABELS = {"job", "instance", "namespace"}
GROUPING = re.compile(r"\b(?:by|without|on|ignoring|group_left|group_right) *\(([^()]*)\)")
WORDS = {"and", "or", "unless", "offset", "bool", "inf", "nan"}

problems = []


def problem(text):
    problems.append(text)


def series():
    """Return the labels of each series."""
    found = {"up": TARGET_LABELS}
    for line in (FOLDER / "metrics.txt").read_text(encoding="utf-8").splitlines():
        name, kind, labels, _help = line.split(maxsplit=3)
        own = set() if labels == "-" else set(labels.split(","))
        for suffix in SUFFIXES[kind]:
            bucket = {"le"} if suffix == "_bucket" else set()
            found[name + suffix] = own | bucket | TARGET_LABELS
    return found


def dashboard():
    return json.loads((FOLDER / "grafana-assent.json").read_text(encoding="utf-8"))


def panels():
    return [panel for panel in dashboard()["panels"] if panel["type"] != "row"]


def alerts():
    groups = yaml.safe_load((FOLDER / "alerts.yaml").read_text(encoding="utf-8"))["groups"]
    return [rule for group in groups for rule in group["rules"]]


def without_variables(expression):
    return expression.replace("$__rate_interval", "5m").replace("$job", ".*").replace("$instance", ".*")


def check_expression(place, expression, known):
    """Check that each name in the expression is a metric, and that each label belongs to one of these metrics."""
    text = re.sub(r'"(?:[^"\\]|\\.)*"', '""', expression)
    labels = {label.strip() for group in GROUPING.findall(text) for label in group.split(",")}
    text = GROUPING.sub(" ", text)
    used = set()
    for name, matchers in re.findall(r"([a-zA-Z_:][\w:]*) *\{([^}]*)\}", text):
        used.add(name)
        for label in re.findall(r"(\w+) *[=!]", matchers):
            if name in known and label not in known[name]:
                problem(f"{place}: {name} has no label {label}")
    text = re.sub(r"\{[^}]*\}|\[[^\]]*\]", " ", text)
    for name in re.findall(r"(?<![\w.])([a-zA-Z_:][\w:]*)(?! *\(|[\w:])", text):
        if name.lower() not in WORDS:
            used.add(name)
    for name in sorted(used - known.keys()):
        problem(f"{place}: {name} is not in metrics.txt")
    for label in sorted(labels):
        if not any(label in known.get(name, ()) for name in used):
            problem(f"{place}: none of its metrics has the label {label}")


def check_panels(known):
    ids = [panel["id"] for panel in dashboard()["panels"]]
    if len(ids) != len(set(ids)):
        problem("the dashboard has two panels with one id")
    for panel in panels():
        place = f"panel {panel.get('title')}"
        if not panel.get("title") or not panel["fieldConfig"]["defaults"].get("unit"):
            problem(f"{place}: it needs a title and a unit")
        for target in panel["targets"]:
            check_expression(place, target["expr"], known)
            if target["expr"].count('job=~"$job", instance=~"$instance"') != target["expr"].count("{"):
                problem(f"{place}: each selector must use the variables job and instance")
    for name in sorted(unused_metrics(known)):
        problem(f"no panel shows {name}")


def unused_metrics(known):
    """Return the metrics that no panel uses. The series of a histogram are one metric."""
    text = " ".join(target["expr"] for panel in panels() for target in panel["targets"])
    shown = set(re.findall(r"\w+", text))
    unused = set()
    for name in known:
        base = re.sub(r"_(bucket|sum|count)$", "", name)
        if not shown & {base, base + "_bucket", base + "_sum", base + "_count"}:
            unused.add(base)
    return unused - {"process_virtual_memory_bytes"}


def check_alerts(known):
    names = [rule["alert"] for rule in alerts()]
    for name in {name for name in names if names.count(name) > 1}:
        problem(f"{name} is there twice")
    for rule in alerts():
        name, notes = rule["alert"], rule.get("annotations", {})
        check_expression(name, rule["expr"], known)
        if rule.get("labels", {}).get("severity") not in ("page", "ticket") or "for" not in rule:
            problem(f"{name}: it needs `for`, and the severity page or ticket")
        if set(notes) != {"summary", "description", "runbook_url"}:
            problem(f"{name}: it needs summary, description and runbook_url")
        # An alert about an absent series has no value.
        elif "$value" not in notes["description"] and "absent(" not in rule["expr"]:
            problem(f"{name}: the description must contain the value")
    return names


def check_runbooks():
    linked = {}
    for rule in alerts():
        url = rule["annotations"].get("runbook_url", "")
        if not url.startswith(RUNBOOK_URL):
            problem(f"{rule['alert']}: runbook_url must begin with {RUNBOOK_URL}")
        linked.setdefault(url.removeprefix(RUNBOOK_URL), []).append(rule["alert"])
    pages = {page.name for page in RUNBOOKS.glob("*.md")} - {"README.md"}
    for page in sorted(linked.keys() - pages):
        problem(f"{RUNBOOKS / page} is missing: {', '.join(linked[page])} links to it")
    for page in sorted(pages - linked.keys()):
        problem(f"{RUNBOOKS / page}: no alert links to it")
    for page in sorted(pages & linked.keys()):
        text = (RUNBOOKS / page).read_text(encoding="utf-8")
        named = set(re.findall(r"`(Assent[A-Z]\w+)`", text.split("##")[0]))
        if named != set(linked[page]):
            problem(f"{RUNBOOKS / page} must name its alerts: {', '.join(linked[page])}")
        for link in re.findall(r"\]\(([^)#]+)", text):
            if not (RUNBOOKS / link).exists():
                problem(f"{RUNBOOKS / page}: {link} does not exist")


def check_tests(names):
    """Check that each alert fires in one test case, and does not fire in another."""
    fires, quiet = set(), set()
    for test in yaml.safe_load((FOLDER / "alerts_test.yaml").read_text(encoding="utf-8"))["tests"]:
        cases = test["alert_rule_test"]
        firing = {case["alertname"] for case in cases if case.get("exp_alerts")}
        fires |= firing
        quiet |= {case["alertname"] for case in cases} - firing
    for name in names:
        if name not in fires or name not in quiet:
            problem(f"{name}: alerts_test.yaml needs a case in which it fires, and one in which it does not")


def check_files():
    known = series()
    check_panels(known)
    names = check_alerts(known)
    check_runbooks()
    check_tests(names)
    print(f"{len(names)} alerts, {len(panels())} panels")


def check_commands(assent):
    """Check that the commands and their flags exist. With --help, the program parses them and does nothing."""
    commands = set()
    for page in RUNBOOKS.glob("*.md"):
        for line in page.read_text(encoding="utf-8").splitlines():
            for command in re.findall(r"(?:-u assent |-- |assent-1 |`|^ *)assent ([a-z-][^`#|]*)", line):
                commands.add((page.name, command.strip()))
    for page, command in sorted(commands):
        done = subprocess.run([assent, *shlex.split(command), "--help"], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            problem(f"{RUNBOOKS / page}: assent {command}: {done.stderr.splitlines()[0]}")
    print(f"{len(commands)} commands")


def print_panels():
    rules = [
        {"record": f"panel:{panel['id']}:{target['refId']}", "expr": without_variables(target["expr"])}
        for panel in panels()
        for target in panel["targets"]
    ]
    print(yaml.safe_dump({"groups": [{"name": "panels", "rules": rules}]}))


{"panels": print_panels, "files": check_files, "commands": check_commands}[sys.argv[1]](*sys.argv[2:])
if problems:
    sys.exit("\n".join(problems))
