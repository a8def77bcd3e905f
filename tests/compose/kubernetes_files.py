"""The manifests of compose/kubernetes as ``kubectl apply -k`` makes them, by the little it takes here."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2] / "compose" / "kubernetes"
KUSTOMIZE_FIELDS = {
    "apiVersion", "kind", "namespace", "resources", "patches", "images", "configMapGenerator",
    "generatorOptions",
}  # fmt: skip

Manifest = dict[str, Any]


class UniqueKeys(yaml.SafeLoader):
    """Refuses a key that is given twice, as the API server's strict validation does."""


def _mapping(loader: yaml.SafeLoader, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
    keys = [loader.construct_object(key, deep=True) for key, _ in node.value]
    assert len(keys) == len(set(keys)), f"a key twice: {keys}{node.start_mark}"
    return yaml.SafeLoader.construct_mapping(loader, node, deep=deep)


UniqueKeys.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, _mapping)


def documents(path: Path) -> list[Manifest]:
    """Every document of a file."""
    return list(yaml.load_all(path.read_text(), UniqueKeys))


def directories() -> list[str]:
    """Those that can be applied."""
    return sorted(path.parent.name for path in ROOT.glob("*/kustomization.yaml"))


def built(name: str) -> list[Manifest]:
    """What applying the directory gives: resources in their namespace, generated and patched."""
    here = ROOT / name
    (kustomization,) = documents(here / "kustomization.yaml")
    assert set(kustomization) <= KUSTOMIZE_FIELDS, (
        f"{name}: this test does not know all of {list(kustomization)}"
    )
    found = list(_resources(here, kustomization))
    for generator in kustomization.get("configMapGenerator", []):
        data = {file: (here / file).read_text() for file in generator["files"]}
        assert kustomization["generatorOptions"] == {"disableNameSuffixHash": True}
        metadata = {"name": generator["name"]}
        found.append({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data})
    for patch in kustomization.get("patches", []):
        _patch(found, patch)
    for manifest in found:
        if manifest["kind"] != "Namespace":
            manifest["metadata"]["namespace"] = kustomization["namespace"]
    return found


def _resources(here: Path, kustomization: Manifest) -> Iterator[Manifest]:
    for name in kustomization["resources"]:
        path = (here / name).resolve()
        yield from copy.deepcopy(built(path.name) if path.is_dir() else documents(path))


def _patch(manifests: list[Manifest], patch: Manifest) -> None:
    target = patch["target"]
    api = "/".join(filter(None, (target.get("group"), target["version"])))
    wanted = (api, target["kind"], target["name"])
    (manifest,) = [m for m in manifests if (m["apiVersion"], m["kind"], m["metadata"]["name"]) == wanted]
    for step in yaml.load(patch["patch"], UniqueKeys):
        *places, last = step["path"].strip("/").split("/")
        inner = manifest
        for place in places:
            inner = inner[place]
        assert (last in inner) is (step["op"] != "add"), step
        if step["op"] == "remove":
            del inner[last]
        else:
            inner[last] = step["value"]


def pod_specs(manifests: list[Manifest]) -> dict[str, tuple[Manifest, Manifest]]:
    """(labels, spec) of every pod template, by the name of what makes the pods."""
    return {
        manifest["metadata"]["name"]: (
            manifest["spec"]["template"]["metadata"],
            manifest["spec"]["template"]["spec"],
        )
        for manifest in manifests
        if "template" in manifest.get("spec", {})
    }


def of_kind(manifests: list[Manifest], kind: str) -> dict[str, Manifest]:
    """Those of one kind by name."""
    return {m["metadata"]["name"]: m for m in manifests if m["kind"] == kind}
