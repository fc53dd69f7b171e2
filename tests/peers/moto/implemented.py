"""Prints which of the operations on standard input ("ec2.CreateVpc", one a line)
moto has a method for: as JSON, {"version", "operations"}."""
import importlib
import inspect
import json
import sys
from importlib.metadata import version

from botocore import xform_name

MODULES = {"service-quotas": "servicequotas"}


def classes(service):
    name = "moto." + MODULES.get(service, service)
    try:
        module = importlib.import_module(name + ".responses")
    except ImportError:
        return []
    return [c for _, c in inspect.getmembers(module, inspect.isclass)
            if c.__module__.startswith(name)]


found = []
for line in sys.stdin.read().split():
    service, op = line.split(".")
    if any(hasattr(c, xform_name(op)) for c in classes(service)):
        found.append(line)
print(json.dumps({"version": version("moto"), "operations": found}))
