"""The Kubernetes files: valid by the API's schemas, and everything they refer to exists."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import jsonschema
import kubernetes_validate
import pytest
import typer.main
import yaml

from domain.autoscaler import STABILIZATION_S, Policies
from domain.errors import ExitCode
from meter import names
from tests.compose.kubernetes_files import ROOT, UniqueKeys, built, directories, documents, of_kind, pod_specs
from tipover.cli import build_app
from tipover.scenario import load_scenario
from tipover.version import VERSION

VERSIONS = ("1.30", kubernetes_validate.latest_version())
"""The first that knows all the fields used (a sleep before the stop), and the last that the schemas cover."""

CUSTOM = {
    "keda.sh/v1alpha1": "scaledobject.schema.json",
    "monitoring.coreos.com/v1": "servicemonitor.schema.json",
}
UTILIZATION = 0.5
PAIR = [Path(name) for name in ("hpa/hpa.yaml", "keda/scaledobject.yaml")]


def check(manifest, version):
    schema = CUSTOM.get(manifest["apiVersion"])
    if schema is None:
        kubernetes_validate.validate(manifest, version, strict=True)
    else:
        jsonschema.validate(manifest, json.loads((Path(__file__).parent / schema).read_text()))


def everything():
    """What a cluster with all of it would have, each once."""
    found = {}
    for directory in directories():
        if directory != "storm-one-node":
            for manifest in built(directory):
                found[manifest["kind"], manifest["metadata"]["name"]] = manifest
    return list(found.values())


ALL = everything()
PODS = pod_specs(ALL)
SERVICES = of_kind(ALL, "Service")


def container_of(name):
    (container,) = PODS[name][1]["containers"]
    return container


def option_of(name, option):
    (value,) = [arg.partition("=")[2] for arg in container_of(name)["args"] if arg.startswith(f"{option}=")]
    return value


def test_every_file_is_part_of_something():
    """No manifest lies beside the kustomizations, but for the adapter's, which has its own namespace."""
    assert directories() == ["base", "hpa", "keda", "monitoring", "storm", "storm-one-node"]
    named = {"kustomization.yaml", "adapter-config.yaml", "adapter-values.yaml"}
    for directory in directories():
        (kustomization,) = documents(ROOT / directory / "kustomization.yaml")
        for path in (ROOT / directory).glob("*.yaml"):
            assert path.name in {*named, *kustomization["resources"]}, path


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("directory", [*directories(), "adapter"])
def test_the_api_accepts_it(directory, version):
    """Every object against the schemas of the oldest and of the newest version, unknown fields refused."""
    manifests = documents(ROOT / "hpa/adapter-config.yaml") if directory == "adapter" else built(directory)
    assert manifests
    for manifest in manifests:
        check(manifest, version)


@pytest.mark.parametrize(
    ("path", "change"),
    [
        ("base/target.yaml", lambda one: one["spec"].update(replica=3)),
        ("base/target.yaml", lambda one: one["spec"].pop("selector")),
        ("base/target.yaml", lambda one: one["spec"]["template"]["spec"]["containers"][0].update(arg=[])),
        ("hpa/hpa.yaml", lambda one: one["spec"].update(maxReplicas="many")),
        ("hpa/hpa.yaml", lambda one: one["spec"]["behavior"]["scaleUp"].update(policy=[])),
        ("keda/scaledobject.yaml", lambda one: one["spec"]["triggers"][0]["metadata"].update(threshold=20)),
        ("keda/scaledobject.yaml", lambda one: one["spec"]["triggers"][0]["metadata"].update(querry="x")),
        ("monitoring/servicemonitors.yaml", lambda one: one["spec"]["endpoints"][0].update(ports="http")),
        ("storm/storm.yaml", lambda one: one["spec"].update(completion=1)),
    ],
)
def test_what_is_wrong_is_refused(path, change):
    """The schemas would see a slip of the pen."""
    manifest = documents(ROOT / path)[0]
    check(manifest, VERSIONS[0])
    change(manifest)
    with pytest.raises(jsonschema.ValidationError):
        check(manifest, VERSIONS[0])


@pytest.mark.parametrize("name", sorted(PODS))
def test_pods_may_do_little(name):
    """Not root, nothing written but to volumes, no token, no capability, memory bounded, a fixed image."""
    metadata, spec = PODS[name]
    container = container_of(name)
    assert spec["securityContext"]["runAsNonRoot"] is True
    assert spec["securityContext"]["runAsUser"] == spec["securityContext"]["runAsGroup"] == 10001
    assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert spec["automountServiceAccountToken"] is False
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert set(container["resources"]["requests"]) == {"cpu", "memory"}
    assert "memory" in container["resources"]["limits"]
    assert container["image"] == f"tipover:{VERSION}"
    assert metadata["labels"]["app.kubernetes.io/name"] == "tipover"


def test_the_image_runs_as_the_same_user():
    """fsGroup and runAsUser are numbers of the Dockerfile."""
    dockerfile = (ROOT.parent / "Dockerfile").read_text()
    assert "USER 10001:10001" in dockerfile
    assert 'ENTRYPOINT ["tipover"]' in dockerfile


@pytest.mark.parametrize("name", sorted(PODS))
def test_the_program_has_these_options(name):
    """Parsed by the command itself, without running it."""
    command, args = typer.main.get_command(build_app()), list(container_of(name)["args"])
    context = None
    while hasattr(command, "commands"):
        word = args.pop(0)
        context = command.make_context(word, [], parent=context, resilient_parsing=True)
        command = command.commands[word]
    command.make_context(container_of(name)["args"][-1], args, parent=context)


@pytest.mark.parametrize("name", sorted(PODS))
def test_volumes_are_there(name):
    """Every mount has its volume, every volume its claim or its files."""
    _, spec = PODS[name]
    volumes = {volume["name"]: volume for volume in spec["volumes"]}
    assert {mount["name"] for mount in container_of(name)["volumeMounts"]} == set(volumes)
    for volume in volumes.values():
        if "persistentVolumeClaim" in volume:
            assert volume["persistentVolumeClaim"]["claimName"] in of_kind(ALL, "PersistentVolumeClaim")
        if "configMap" in volume:
            assert volume["configMap"]["name"] in of_kind(ALL, "ConfigMap")


def test_what_scrapes_and_probes_meets_a_port():
    """Annotations, probes, services and monitors name ports that a container listens on."""
    for name, (metadata, _) in PODS.items():
        container = container_of(name)
        ports = {port["name"]: port["containerPort"] for port in container.get("ports", [])}
        if scraped := metadata.get("annotations"):
            assert int(scraped["prometheus.io/port"]) in ports.values()
        for probe, page in (("livenessProbe", "/healthz"), ("readinessProbe", "/readyz")):
            if name in ("target", "meter"):
                assert container[probe]["httpGet"]["path"] == page
                assert container[probe]["httpGet"]["port"] in ports
    for service in SERVICES.values():
        (behind,) = [
            name for name, (metadata, _) in PODS.items() if metadata["labels"] == service["spec"]["selector"]
        ]
        ports = {port["name"]: port["containerPort"] for port in container_of(behind)["ports"]}
        for port in service["spec"]["ports"]:
            assert ports[port["targetPort"]] == port["port"]
    for monitor in of_kind(ALL, "ServiceMonitor").values():
        labels = monitor["spec"]["selector"]["matchLabels"]
        (service,) = [one for one in SERVICES.values() if one["metadata"]["labels"] == labels]
        for endpoint in monitor["spec"]["endpoints"]:
            assert endpoint["port"] in {port["name"] for port in service["spec"]["ports"]}


def test_selectors_select_their_own_pods():
    for kind in ("Deployment",):
        for name, manifest in of_kind(ALL, kind).items():
            assert manifest["spec"]["selector"]["matchLabels"] == PODS[name][0]["labels"]
    labels = [tuple(sorted(metadata["labels"].items())) for metadata, _ in PODS.values()]
    assert len(set(labels)) == len(labels)


def test_parts_find_each_other():
    """Addresses in arguments are services, at ports that these have; listeners are those of the pod."""
    ports = {name: {port["port"] for port in service["spec"]["ports"]} for name, service in SERVICES.items()}
    addresses = [
        option_of("meter", "--upstream").removeprefix("http://"),
        option_of("storm-master", "--target").removeprefix("http://"),
        option_of("storm-workers", "--master"),
    ]
    for address in addresses:
        host, _, port = address.partition(":")
        assert int(port) in ports[host]
    assert SERVICES["target"]["spec"]["clusterIP"] == "None"
    assert {int(option_of("meter", "--port")), int(option_of("meter", "--admin-port"))} == ports["meter"]
    assert {int(option_of("target", "--port"))} == ports["target"]
    assert int(option_of("storm-master", "--bind").partition(":")[2]) in ports["storm-master"]
    for name in ("storm-master", "storm-workers"):
        assert option_of(name, "--allow-host") == "meter"
    assert option_of("storm-master", "--out").startswith(option_of("storm-workers", "--out"))


def test_as_many_workers_as_the_master_waits_for():
    workers = of_kind(ALL, "Job")["storm-workers"]["spec"]
    assert workers["completions"] == workers["parallelism"] == int(option_of("storm-master", "--workers"))
    one_node = {m["metadata"]["name"]: m for m in built("storm-one-node")}
    affinity = one_node["storm-workers"]["spec"]["template"]["spec"]["affinity"]["podAffinity"]
    (near,) = affinity["requiredDuringSchedulingIgnoredDuringExecution"]
    assert near["labelSelector"]["matchLabels"] == PODS["storm-master"][0]["labels"]


def test_the_scenario_is_one():
    """It loads, is mounted where the master looks, and speaks of the pods that there are at least."""
    args = container_of("storm-master")["args"]
    path = Path(args[1])
    (mount,) = [m for m in container_of("storm-master")["volumeMounts"] if m["name"] == "scenario"]
    assert path.parent == Path(mount["mountPath"])
    scenario = load_scenario(str(ROOT / "storm" / path.name))
    service = scenario.service
    assert service.pods == of_kind(ALL, "HorizontalPodAutoscaler")["target"]["spec"]["minReplicas"]
    assert service.rate_per_pod == float(option_of("target", "--rate-per-pod"))
    assert scenario.run.speedup == 1.0
    duration_s = sum(phase.duration_s for phase in scenario.demand.phases)
    for name in ("storm-master", "storm-workers"):
        assert of_kind(ALL, "Job")[name]["spec"]["activeDeadlineSeconds"] > duration_s + 600


def scaled_up(behavior):
    return [
        (policy["type"].lower(), policy["value"], policy["periodSeconds"])
        for policy in behavior["scaleUp"]["policies"]
    ]


def test_both_autoscalers_are_the_same_and_ours():
    """Behaviour, bounds and target of HPA and KEDA agree, and are our own autoscaler's defaults."""
    hpa = of_kind(ALL, "HorizontalPodAutoscaler")["target"]["spec"]
    keda = of_kind(ALL, "ScaledObject")["target"]["spec"]
    behavior = keda["advanced"]["horizontalPodAutoscalerConfig"]["behavior"]
    assert behavior == hpa["behavior"]
    assert keda["scaleTargetRef"] == hpa["scaleTargetRef"]
    assert hpa["scaleTargetRef"]["name"] in of_kind(ALL, "Deployment")
    assert (keda["minReplicaCount"], keda["maxReplicaCount"]) == (hpa["minReplicas"], hpa["maxReplicas"])
    assert "replicas" not in of_kind(ALL, "Deployment")["target"]["spec"]
    ours = Policies()
    assert scaled_up(behavior) == [(one.kind, one.value, one.period_s) for one in ours.policies]
    assert behavior["scaleUp"]["selectPolicy"].lower() == ours.select
    assert behavior["scaleDown"]["stabilizationWindowSeconds"] == STABILIZATION_S
    per_pod = float(option_of("target", "--rate-per-pod")) * int(option_of("target", "--pods"))
    targets = [float(metric["external"]["target"]["averageValue"]) for metric in hpa["metrics"]]
    targets += [float(trigger["metadata"]["threshold"]) for trigger in keda["triggers"]]
    assert targets == [UTILIZATION * per_pod] * 4


def adapter_rules():
    (config,) = documents(ROOT / "hpa/adapter-config.yaml")
    return yaml.load(config["data"]["config.yaml"], UniqueKeys)["externalRules"]


def test_the_adapter_gives_what_the_hpa_asks_for():
    """Metric by metric; the chart's values have the same rules."""
    hpa = of_kind(ALL, "HorizontalPodAutoscaler")["target"]["spec"]
    asked = [metric["external"]["metric"]["name"] for metric in hpa["metrics"]]
    assert [rule["name"]["as"] for rule in adapter_rules()] == asked
    (values,) = documents(ROOT / "hpa/adapter-values.yaml")
    assert values["rules"]["external"] == adapter_rules()


def test_queries_ask_for_metrics_that_exist():
    """The metric, its label and the label's value are those of the meter, and the pods are the meter's."""
    triggers = of_kind(ALL, "ScaledObject")["target"]["spec"]["triggers"]
    for rule, trigger in zip(adapter_rules(), triggers, strict=True):
        query = rule["metricsQuery"].replace("<<.Series>>", names.ATTEMPTS)
        query = query.replace("<<.LabelMatchers>>", 'namespace="tipover"')
        assert query == trigger["metadata"]["query"]
        assert set(re.findall(r"tipover_\w+", query)) == {names.ATTEMPTS}
        for label, value in re.findall(r'(\w+)="(\w+)"', query):
            assert (label, value) in {(names.LABEL_ATTEMPT, names.FIRST), ("namespace", "tipover")}
        assert f'__name__="{names.ATTEMPTS}"' in rule["seriesQuery"]
        (pattern,) = set(re.findall(r'pod=~"([^"]+)"', query + rule["seriesQuery"]))
        assert [name for name in of_kind(ALL, "Deployment") if re.fullmatch(pattern, f"{name}-7c9d-x2x")] == [
            "meter"
        ]
    assert names.LABEL_ATTEMPT in adapter_rules()[0]["metricsQuery"]
    assert names.LABEL_ATTEMPT not in adapter_rules()[1]["metricsQuery"].replace("attempts", "")


def test_prometheus_answers_the_queries(tmp_path):
    """60/s at the meter, 20 of them first, without the target's own counts and other namespaces."""
    promtool = shutil.which("promtool")
    if promtool is None:
        pytest.skip("promtool is not installed: it comes with Debian's prometheus")
    triggers = of_kind(ALL, "ScaledObject")["target"]["spec"]["triggers"]
    rules = [{"record": trigger["name"], "expr": trigger["metadata"]["query"]} for trigger in triggers]
    (tmp_path / "rules.yml").write_text(yaml.safe_dump({"groups": [{"name": "kubernetes", "rules": rules}]}))
    series = [
        (f'{names.ATTEMPTS}{{namespace="{namespace}",pod="{pod}",attempt="{attempt}"}}', step)
        for namespace, pod in (("tipover", "meter-1-a"), ("tipover", "target-1-a"), ("other", "meter-1-a"))
        for attempt, step in (("first", 100), ("retry", 200))
    ]
    expected = {"first": 20, "ingress": 60}
    tests = {
        "rule_files": ["rules.yml"],
        "evaluation_interval": "5s",
        "tests": [
            {
                "interval": "5s",
                "input_series": [{"series": name, "values": f"0+{step}x60"} for name, step in series],
                "promql_expr_test": [
                    {"expr": name, "eval_time": "4m", "exp_samples": [{"labels": name, "value": value}]}
                    for name, value in expected.items()
                ],
            }
        ],
    }
    (tmp_path / "tests.yml").write_text(yaml.safe_dump(tests))
    done = subprocess.run(
        [promtool, "test", "rules", "tests.yml"],
        check=False,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_text_names_what_there_is():
    """Directories, files and exit codes in the README."""
    text = (ROOT / "README.md").read_text()
    for directory in directories():
        assert f"{directory}" in text
    for path in re.findall(r"`([\w-]+/[\w.-]+\.(?:yaml|toml))`", text):
        assert (ROOT / path).exists(), path
    assert f"with {int(ExitCode.CONFIRMED)} if what the scenario expects came true" in " ".join(text.split())
    assert f"with {int(ExitCode.FINDING)} if not" in text
    assert f"{int(ExitCode.INVALID_RUN)} is a run that says nothing" in text
