"""The table of tools/gpu-acceptance."""
import csv


class Table:
    """Prints rows as they come, in Markdown, and writes them as CSV."""

    columns = ("row", "measured", "reference", "by", "ratio", "goal", "ok")

    def __init__(self, path):
        self.file = open(path, "w", newline="", encoding="utf-8") if path else None
        self.first, self.missed, self.notes = True, 0, []

    def write(self, *row):
        if self.first:
            self.first = False
            print("| " + " | ".join(self.columns) + " |\n" + "|---" * len(self.columns) + "|", flush=True)
            self.write_csv(self.columns)
        print("| " + " | ".join(row) + " |", flush=True)
        self.write_csv(row)

    def write_csv(self, row):
        if self.file:
            csv.writer(self.file).writerow(row)
            self.file.flush()

    def add(self, row, measured, reference="", by="", ratio=None, goal="", ok=None):
        """Adds a row. ok None: a row without a goal."""
        self.missed += ok is False
        self.write(row, measured, reference, by, "" if ratio is None else f"{ratio:.3f}", goal,
                   {None: "", True: "yes", False: "no"}[ok])

    def not_run(self, row, why, goal, measured=""):
        """Adds a row whose goal is missed. why: the reason, something missing or a failure."""
        self.missed += 1
        self.write(row, measured, "", "", "", goal, str(why))

    def note(self, text):
        if text not in self.notes:
            self.notes.append(text)

    def finish(self):
        for text in self.notes:
            print(text)
        if self.file:
            self.file.close()
