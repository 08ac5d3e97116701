"""The YAML functions of scripts/charts. They need Python with PyYAML.

manifests.py settings MANIFEST: prints the assent.toml of the rendered ConfigMaps.
manifests.py environment MANIFEST KIND: prints the environment variables of this Deployment or Job, with test values.
manifests.py schema CRD: prints the JSON schema of a custom resource, which rejects unknown properties.
manifests.py local FOLDER COPY: copies the schemas of the package kubernetes-validate, so that references lead to files.
manifests.py monitoring MANIFEST FOLDER: checks that the rendered alert rules and dashboard are those of the folder.
manifests.py compose FILE: checks that a resolved Compose file defines all that its services name.
"""

import json
import pathlib
import sys

import yaml

# Values that have the form of the secrets.
SECRETS = {
    "ASSENT__DATABASE__URL": "postgres://assent@db.example.org/assent",
    "ASSENT__KEYS__MASTER_KEY": "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=",
    "ASSENT__MAIL__PASSWORD": "password",
}


def objects(name):
    with open(name, encoding="utf-8") as file:
        return [item for item in yaml.safe_load_all(file) if item]


def settings(manifest):
    """Print the settings, which the instances and the migration Job must have in common."""
    texts = {item["data"]["assent.toml"] for item in objects(manifest) if item["kind"] == "ConfigMap"}
    if len(texts) != 1:
        sys.exit(f"{manifest}: expected one text of assent.toml in all ConfigMaps, found {len(texts)}")
    return texts.pop()


def environment(manifest, kind):
    """Print a value for each variable of these objects that the Secrets must have."""
    found = [item for item in objects(manifest) if item["kind"] == kind]
    containers = [c for item in found for c in item["spec"]["template"]["spec"]["containers"]]
    variables = [variable for container in containers for variable in container["env"]]
    required = [v["name"] for v in variables if not v.get("valueFrom", {}).get("secretKeyRef", {}).get("optional")]
    return "".join(f"{name}={SECRETS[name]}\n" for name in required)


def strict(schema):
    """Reject unknown properties, because schemas of custom resources accept them: the API server removes them."""
    if isinstance(schema, dict):
        if schema.get("type") == "object" and "properties" in schema:
            schema.setdefault("additionalProperties", False)
        for value in schema.values():
            strict(value)
    elif isinstance(schema, list):
        for value in schema:
            strict(value)


def schema(crd):
    [resource] = objects(crd)
    [version] = [v for v in resource["spec"]["versions"] if v["name"] == "v1"]
    own = version["schema"]["openAPIV3Schema"]
    strict(own)
    return json.dumps(own)


def local(folder, copy):
    pathlib.Path(copy).mkdir()
    for file in pathlib.Path(folder).glob("*.json"):
        content = json.loads(file.read_text(encoding="utf-8"))
        # References are relative to it.
        content.pop("$id", None)
        text = json.dumps(content).replace('"/api/_definitions.json#', '"_definitions.json#')
        pathlib.Path(copy, file.name).write_text(text, encoding="utf-8")
    return ""


def monitoring(manifest, folder):
    found = {item["kind"]: item for item in objects(manifest)}
    rules = pathlib.Path(folder, "alerts.yaml").read_text(encoding="utf-8")
    dashboard = pathlib.Path(folder, "grafana-assent.json").read_text(encoding="utf-8")
    rules = yaml.safe_load(rules.replace("https://runbooks.example/", "https://wiki.example.org/assent/"))
    if found["PrometheusRule"]["spec"] != rules or found["ConfigMap"]["data"] != {"grafana-assent.json": dashboard}:
        sys.exit("The chart's alert rules or dashboard differ from packaging/monitoring. Run: scripts/monitoring update")
    if found["ConfigMap"]["metadata"]["labels"].get("grafana_dashboard") != "1":
        sys.exit(f"{manifest}: the ConfigMap needs the label of Grafana's sidecar")
    return ""


def compose(name):
    [project] = objects(name)
    for own, service in project["services"].items():
        used = {
            "secrets": [secret["source"] for secret in service.get("secrets", [])],
            "networks": list(service.get("networks", {})),
            "volumes": [volume["source"] for volume in service.get("volumes", []) if volume["type"] == "volume"],
            "services": list(service.get("depends_on", {})),
        }
        for kind, names in used.items():
            unknown = set(names) - set(project.get(kind, {}))
            if unknown:
                sys.exit(f"{name}: service {own} names {kind} that are not defined: {', '.join(sorted(unknown))}")
    return ""


commands = {
    "settings": settings,
    "environment": environment,
    "schema": schema,
    "local": local,
    "monitoring": monitoring,
    "compose": compose,
}
print(commands[sys.argv[1]](*sys.argv[2:]), end="")
