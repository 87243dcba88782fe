"""What deploy/ has follows the schemas of what reads it, is pinned, and says the same everywhere."""

import copy
import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import jsonschema
import kubernetes_validate
import pytest
import yaml
from compose_spec import PyCompose

import tfnmt
from tfnmt.commands.verbs import command_parser, load_command
from tfnmt.serving.files import register

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"
KUBERNETES = "1.35"
RAY_JOB = json.loads(Path(__file__).with_name("rayjob.schema.json").read_text(encoding="utf-8"))
REQUIREMENTS = (ROOT / "requirements.txt").read_text(encoding="utf-8")

RESOURCES = {
    f"{path.name}: {resource['kind']}": resource
    for path in sorted((DEPLOY / "kubernetes").glob("*.yaml"))
    for resource in yaml.safe_load_all(path.read_text(encoding="utf-8"))
}
JOBS = [name for name, resource in RESOURCES.items() if resource["kind"] == "RayJob"]
COMPOSE = yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))


def pod_templates(resource):
    """The templates of the pods that a resource starts."""
    if resource["kind"] == "RayJob":
        cluster = resource["spec"]["rayClusterSpec"]
        return [group["template"] for group in (cluster["headGroupSpec"], *cluster["workerGroupSpecs"])]
    return [resource["spec"]["template"]] if resource["kind"] == "Deployment" else []


def validate(resource):
    """Raise a `jsonschema.ValidationError` unless Kubernetes, or KubeRay, takes a resource."""
    if resource["kind"] != "RayJob":
        kubernetes_validate.validate(resource, KUBERNETES, strict=True)
        return
    jsonschema.validate(resource, RAY_JOB)
    for template in pod_templates(resource):
        template = {"apiVersion": "v1", "kind": "PodTemplate", "metadata": {"name": "ray"}, "template": template}
        kubernetes_validate.validate(template, KUBERNETES, strict=True)


@pytest.mark.parametrize("name", RESOURCES)
def test_kubernetes_takes_it(name):
    validate(RESOURCES[name])


def test_a_mistyped_key_would_be_found():
    for resource in RESOURCES.values():
        for path in ([], *([["spec"]] if resource["kind"] != "Service" else [])):
            wrong = copy.deepcopy(resource)
            place = wrong
            for key in path:
                place = place[key]
            place["mistyped"] = 1
            with pytest.raises(jsonschema.ValidationError):
                validate(wrong)
        for number, _ in enumerate(pod_templates(resource)):
            wrong = copy.deepcopy(resource)
            pod_templates(wrong)[number]["spec"]["containers"][0]["imagee"] = "x"
            with pytest.raises(jsonschema.ValidationError):
                validate(wrong)


@pytest.mark.parametrize("name", [name for name, resource in RESOURCES.items() if pod_templates(resource)])
def test_pods_are_not_root_and_have_limits(name):
    for template in pod_templates(RESOURCES[name]):
        assert template["spec"]["securityContext"]["runAsNonRoot"] is True
        (container,) = template["spec"]["containers"]
        assert container["securityContext"]["allowPrivilegeEscalation"] is False
        assert set(container["resources"]["limits"]) == set(container["resources"]["requests"]) == {"cpu", "memory"}
        volumes = {volume["name"] for volume in template["spec"]["volumes"]}
        assert volumes == {mount["name"] for mount in container["volumeMounts"]}


def test_names_go_together():
    claims = {
        volume["persistentVolumeClaim"]["claimName"]
        for resource in RESOURCES.values()
        for template in pod_templates(resource)
        for volume in template["spec"]["volumes"]
        if "persistentVolumeClaim" in volume
    }
    assert claims == {RESOURCES["storage.yaml: PersistentVolumeClaim"]["metadata"]["name"]}
    deployment = RESOURCES["serving.yaml: Deployment"]
    labels = deployment["spec"]["template"]["metadata"]["labels"]
    assert deployment["spec"]["selector"]["matchLabels"] == labels
    assert RESOURCES["serving.yaml: Service"]["spec"]["selector"] == labels
    assert RESOURCES["serving.yaml: PodDisruptionBudget"]["spec"]["selector"]["matchLabels"] == labels
    scaled = RESOURCES["serving.yaml: HorizontalPodAutoscaler"]["spec"]["scaleTargetRef"]
    assert (scaled["kind"], scaled["name"]) == ("Deployment", deployment["metadata"]["name"])
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}
    services = {port["targetPort"]: port["port"] for port in RESOURCES["serving.yaml: Service"]["spec"]["ports"]}
    assert ports == services == {"grpc": 8500, "rest": 8501}
    for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
        assert container[probe]["httpGet"]["port"] in ports


def test_tensorflow_serving_is_started_as_the_folder_of_servables_says(tmp_path):
    register(tmp_path, "de")
    text = (tmp_path / "compose.yaml").read_text(encoding="utf-8")
    PyCompose.from_yaml(text)
    service = yaml.safe_load(text)["services"]["serving"]
    (container,) = RESOURCES["serving.yaml: Deployment"]["spec"]["template"]["spec"]["containers"]
    assert container["image"] == service["image"] and container["args"] == service["command"]
    assert {mount["mountPath"] for mount in container["volumeMounts"]} == {"/models", "/tmp"}


@pytest.mark.parametrize("name", JOBS)
def test_the_commands_of_jobs_are_ones(name):
    program, verb, *options = shlex.split(RESOURCES[name]["spec"]["entrypoint"])
    assert program == "tfnmt"
    command_parser(verb, load_command(verb)).parse_args(options)


def test_the_composition_has_a_head_and_two_workers():
    PyCompose.from_yaml(yaml.safe_dump(COMPOSE))
    assert set(COMPOSE["services"]) == {"head", "worker"} and COMPOSE["services"]["worker"]["deploy"]["replicas"] == 2
    with pytest.raises(ValueError, match="imagee"):
        PyCompose.from_yaml(yaml.safe_dump({"services": {"head": {"image": "x", "imagee": "x"}}}))
    for service in COMPOSE["services"].values():
        assert "ports" not in service and "mem_limit" in service and service["cap_drop"] == ["ALL"]
        assert service["environment"]["RAY_AUTH_MODE"] == "token"
        assert service["environment"]["RAY_ADDRESS"] == "head:6379"
    assert "--include-dashboard=false" in COMPOSE["services"]["head"]["command"]
    assert (DEPLOY / COMPOSE["services"]["head"]["build"]["context"]).resolve() == ROOT


def test_versions_are_the_same_everywhere():
    images = {service["image"] for service in COMPOSE["services"].values()}
    for name in JOBS:
        images |= {template["spec"]["containers"][0]["image"] for template in pod_templates(RESOURCES[name])}
    assert images == {f"tfnmt:{tfnmt.__version__}"}
    (ray,) = re.findall(r"^ray\[.*\]==(.*)$", REQUIREMENTS, re.M)
    assert {RESOURCES[name]["spec"]["rayClusterSpec"]["rayVersion"] for name in JOBS} == {ray}


def test_the_image_is_pinned_and_not_roots():
    text = (DEPLOY / "Dockerfile").read_text(encoding="utf-8")
    hadolint = Path(sys.executable).with_name("hadolint")
    found = subprocess.run([hadolint, "-"], input=text, capture_output=True, text=True)
    assert (found.returncode, found.stdout) == (0, "")
    instructions = dict(re.findall(r"^([A-Z]+) (.*)$", text, re.M))
    assert re.fullmatch(r"python:3\.11\.\d+-slim-\w+", instructions["FROM"]) and instructions["USER"] == "10001"
    assert f"tfnmt:{tfnmt.__version__} " in text
    copied = [word for words in re.findall(r"^COPY (.*) \S+$", text, re.M) for word in words.split()]
    let_through = re.findall(r"^!(.*)$", (DEPLOY / "Dockerfile.dockerignore").read_text(), re.M)
    assert sorted(copied) == sorted(let_through) and all((ROOT / name).exists() for name in copied)
