"""A contract for import-linter: a package is entered by its public modules alone."""

from importlinter import Contract, ContractCheck, output


class PrivateModules(Contract):
    """No module imports a module with an underscore of a package that it is not in."""

    def check(self, graph, verbose):
        """Look at every import between modules of the root package."""
        root = self.session_options["root_packages"][0]
        modules = sorted(m for m in graph.modules if m.startswith(root + "."))
        wrong = [
            (importer, module)
            for module in modules
            for importer in sorted(graph.find_modules_that_directly_import(module))
            if not f"{importer}.".startswith(_owner(module, root))
        ]
        return ContractCheck(kept=not wrong, metadata={"wrong": wrong})

    def render_broken_contract(self, check):
        """Print each such import."""
        for importer, module in check.metadata["wrong"]:
            output.print_error(f"{importer} imports {module}")


def _owner(module, root):
    """Package whose modules may import this one, with a dot; the root where it is public."""
    parts = module.split(".")
    private = [place for place in range(2, len(parts)) if parts[place].startswith("_")]
    return ".".join(parts[: private[0]] if private else [root]) + "."
