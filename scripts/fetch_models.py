"""scripts/fetch-models: fetches, inflates and checks the models of models/manifest.json."""

import argparse
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "models"))
import catalog  # noqa: E402


def main():
    parser = argparse.ArgumentParser(prog="fetch-models", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="models of the manifest")
    parser.add_argument("--all", action="store_true", help="every model (about 3 GB)")
    parser.add_argument("--list", action="store_true", help="print the names, kinds and licences")
    options = parser.parse_args()
    models = catalog.entries()
    if options.list:
        for model in models.values():
            print(f"{model['name']:28} {model['kind']:6} {model['licence']:11} {model['notes']}")
        return 0
    names = list(models) if options.all else options.names
    if not names:
        parser.error("name a model, or say --all or --list")
    try:
        for name in names:
            print(catalog.fetch(name), flush=True)
    except (catalog.CatalogError, OSError) as error:
        print(f"fetch-models: error: {error}", file=sys.stderr)
        return 3
    return 0


if __name__ == "__main__":
    sys.exit(main())
