"""What an installation has: its files, man pages and shell completions. And --version."""
import glob
import os
import pty
import re
import select
import shutil
import subprocess
import tarfile
import time
import unittest

from harness import BUILD, PATIENCE_S, ROOT, TOOL, Case, environment

SHARE = os.path.join(BUILD, "share")
BASH_COMPLETION = os.path.join(SHARE, "bash-completion", "completions", "profrun")
COMMANDS = ["run", "report", "whatif", "diff", "merge", "export", "info", "trigger", "env"]

# Prints what the completion offers for a command line, one word per line.
ASK_BASH = """
. "$0"
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
_profrun
printf '%s\\n' "${COMPREPLY[@]}"
"""

# In an interactive zsh, the Tab key completes, writes the words to $FOUND, and clears the line.
ZSHRC = """
PS1=
fpath=(%s $fpath)
autoload -Uz compinit && compinit -D -u
compadd() {
	local -a found
	if [[ ${@[1,(i)(-|--)]} != *-(O|A|D)\\ * ]]; then
		builtin compadd -A found "$@"
		print -rl -- $found >>$FOUND
	fi
	builtin compadd "$@"
}
zle -C complete-word complete-word _main_complete
show() { zle complete-word; print -r -- END >>$FOUND; zle kill-whole-line; }
zle -N show
bindkey '^I' show
print -r -- END >>$FOUND
"""


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def rows(word):
    text = subprocess.run([TOOL, word], check=True, stdout=subprocess.PIPE, text=True).stdout
    return [line.split("\t") for line in text.splitlines()]


def files_below(folder):
    return {os.path.relpath(os.path.join(base, name), folder)
            for base, folders, names in os.walk(folder) for name in names + folders}


class Install(Case):
    def setUp(self):
        self.target = self.folder()

    def install(self):
        subprocess.run([os.path.join(ROOT, "scripts", "install"), BUILD, self.target], check=True)

    def uninstall(self):
        return self.execute([os.path.join(ROOT, "scripts", "uninstall"), self.target], self.base,
                            environment())

    def test_readme_and_its_links(self):
        self.install()
        folder = os.path.join(self.target, "share", "doc", "profrun")
        links = [link for link in re.findall(r"\]\(([^)#]+)", read(f"{folder}/README.md"))
                 if "://" not in link]
        self.assertGreater(len(links), 10)
        self.assertEqual([link for link in links if not os.path.exists(os.path.join(folder, link))],
                         [])

    def test_both_names_run(self):
        self.install()
        for name in ("profrun", "profrun.sh"):
            run = self.execute([os.path.join(self.target, "bin", name), "env"], self.base,
                               environment())
            self.assertEqual((run.status, run.err), (0, ""))
            self.assertIn("PROF_SCHEDULE", run.out)
        run = self.execute([os.path.join(self.target, "bin", "profrun"), "--sim", "-o",
                            self.folder(), "true"], self.base, environment())
        self.assertEqual(run.status, 0, run.err)
        self.assertNotIn("without profiling", run.err)

    def test_man_pages_and_completions(self):
        self.install()
        found = files_below(os.path.join(self.target, "share"))
        for command in COMMANDS:
            self.assertIn(f"man/man1/profrun-{command}.1", found)
        self.assertLessEqual({"man/man1/profrun.1", "man/man7/profrun-settings.7",
                              "bash-completion/completions/profrun",
                              "zsh/site-functions/_profrun"}, found)

    def test_uninstall_leaves_nothing(self):
        self.install()
        self.assertEqual(self.uninstall().status, 0)
        self.assertEqual(files_below(self.target), set())

    def test_uninstall_leaves_files_of_others(self):
        self.install()
        others = {"bin/other", "share/man/man1/other.1"}
        for name in others:
            open(os.path.join(self.target, name), "w").close()
        self.uninstall()
        left = {name for name in files_below(self.target)
                if not os.path.isdir(os.path.join(self.target, name))}
        self.assertEqual(left, others)

    def test_uninstall_of_nothing(self):
        run = self.uninstall()
        self.assertEqual(run.status, 1)
        self.assertIn("is not installed", run.err)

    def test_a_later_version_removes_files_of_the_earlier_one(self):
        self.install()
        stale = os.path.join(self.target, "lib", "profrun", "old")
        open(stale, "w").close()
        with open(os.path.join(self.target, "lib", "profrun", "installed"), "a") as file:
            file.write("file lib/profrun/old\n")
        self.install()
        self.assertFalse(os.path.exists(stale))
        self.uninstall()
        self.assertEqual(files_below(self.target), set())


class Dist(Case):
    @unittest.skipUnless(os.path.exists(os.path.join(ROOT, ".git")), "not a git checkout")
    def test_the_archive_has_the_sources(self):
        copy = self.folder()
        subprocess.run(["git", "clone", "-q", "--shared", ROOT, copy], check=True)
        run = self.execute(["make", "-s", "dist"], copy, environment(), cwd=copy)
        self.assertEqual(run.status, 0, run.err)
        (path,) = glob.glob(os.path.join(copy, "dist", "*.tar.gz"))
        with tarfile.open(path) as archive:
            names = {name.partition("/")[2] for name in archive.getnames()}
            archive.extract(next(m for m in archive if m.name.endswith("/scripts/build-id")),
                            self.base)
        tracked = subprocess.run(["git", "-C", copy, "ls-files"], check=True, text=True,
                                 stdout=subprocess.PIPE).stdout.split("\n")
        self.assertEqual(set(tracked) - names - {""}, set())
        (script,) = glob.glob(os.path.join(self.base, "profrun-*", "scripts", "build-id"))
        commit = subprocess.check_output(["git", "-C", copy, "rev-parse", "HEAD"], text=True)
        self.assertEqual(subprocess.check_output([script], text=True), commit[:12] + "\n")

    def test_a_build_of_an_unknown_source_is_called_dist(self):
        script = os.path.join(self.base, "build-id")
        shutil.copy(os.path.join(ROOT, "scripts", "build-id"), script)
        self.assertEqual(subprocess.check_output([script], text=True), "dist\n")


class Version(Case):
    def test_version_is_in_one_place(self):
        version = re.search(r'PROFRUN_VERSION "([\d.]+)"',
                            read(os.path.join(ROOT, "core", "runtime", "version.h")))[1]
        run = self.tool("--version")
        self.assertEqual(run.status, 0)
        self.assertRegex(run.out, rf"\Aprofrun {re.escape(version)} \(build (dist|[0-9a-f]+\+?)\)\n"
                                  r"CUPTI: .+\n\Z")
        self.assertIn(f"\n## [{version}] - ", read(os.path.join(ROOT, "CHANGELOG.md")))
        self.assertIn(f"profrun ({version}) ", read(os.path.join(ROOT, "debian", "changelog")))
        self.assertIn(f"profrun {version}", read(os.path.join(SHARE, "man", "man1", "profrun.1")))

    def test_cupti_that_is_found(self):
        folder = os.path.join(self.folder(), "lib", "python3.11", "site-packages", "nvidia",
                              "cu13", "lib")
        os.makedirs(folder)
        library = os.path.join(folder, "libcupti.so.13")
        open(library, "w").close()
        root = os.path.dirname(folder.partition("/python3.11")[0])
        run = self.tool("--version", VIRTUAL_ENV=root)
        self.assertIn(f"CUPTI: {os.path.realpath(library)}\n", run.out)
        run = self.tool("--version", PROF_CUPTI="/no/libcupti.so")
        self.assertIn("CUPTI: /no/libcupti.so, set by PROF_CUPTI; cannot be read\n", run.out)


class Manual(unittest.TestCase):
    def pages(self):
        return glob.glob(os.path.join(SHARE, "man", "man[17]", "*"))

    @unittest.skipUnless(shutil.which("groff"), "groff is not installed")
    def test_pages_have_no_warning(self):
        self.assertGreater(len(self.pages()), len(COMMANDS) + 1)
        for path in self.pages():
            run = subprocess.run(["groff", "-man", "-ww", "-Tutf8", "-rLL=78n", path], text=True,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=True)
            self.assertEqual(run.stderr, "")

    @unittest.skipUnless(shutil.which("man"), "man is not installed")
    def test_pages_have_every_option_and_setting(self):
        pages = {os.path.basename(path): subprocess.run(
            ["man", "-l", path], text=True, check=True, stdout=subprocess.PIPE,
            env={**os.environ, "MANWIDTH": "100", "MANPAGER": "cat"}).stdout
            for path in self.pages()}
        for command, option, argument, _ in rows("--list-options"):
            form = f"{option} {argument}".rstrip()
            self.assertIn(f" {form}", pages[f"profrun-{command}.1"], command)
        for command, usage, summary, _ in rows("--list-commands"):
            self.assertIn(summary, " ".join(pages[f"profrun-{command}.1"].split()))
        for name, default, _, _, meaning, _ in rows("--list-settings"):
            page = "".join(pages["profrun-settings.7"].split())
            self.assertIn(f"{name}{meaning[0].upper()}", page)
            self.assertIn("".join(meaning[1:].replace("`", "").split()), page)
            self.assertIn("".join(default.split()), page)


class Bash(unittest.TestCase):
    def words(self, *line):
        return subprocess.run(["bash", "-c", ASK_BASH, BASH_COMPLETION, *line], text=True,
                              check=True, cwd=ROOT, stdout=subprocess.PIPE).stdout.split()

    def test_commands(self):
        self.assertLessEqual(set(COMMANDS), set(self.words("profrun", "")))
        self.assertEqual(self.words("profrun", "repor"), ["report"])

    def test_every_option(self):
        for command, option, _, _ in rows("--list-options"):
            line = ["profrun"] if command == "run" else ["profrun", command]
            self.assertIn(option, self.words(*line, "-"))
            self.assertEqual([word for word in self.words(*line, option) if word == option],
                             [option])

    def test_every_value(self):
        for command, option, words in rows("--list-values"):
            line = ["profrun"] if command == "run" else ["profrun", command]
            self.assertEqual(self.words(*line, option, ""), words.split())
            self.assertEqual(self.words(*line, option, "=", ""), words.split())

    def test_formats(self):
        self.assertEqual(self.words("profrun", "export", "--format", "perfetto,c"),
                         ["perfetto,chrome", "perfetto,csv"])

    def test_files(self):
        self.assertEqual(self.words("profrun", "report", "READ"), ["README.md"])
        self.assertEqual(self.words("profrun", "--stacks", "sync", "-o", "READ"), ["README.md"])

    def test_the_program_that_is_profiled(self):
        self.assertEqual(self.words("profrun", "-o", "out", "cat", "READ"), ["README.md"])
        self.assertEqual(self.words("profrun", "--", "report", "--to"), [])
        self.assertIn("bash", self.words("profrun", "ba"))


@unittest.skipUnless(shutil.which("zsh"), "zsh is not installed")
class Zsh(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.found = os.path.join(cls.base, "found")
        with open(os.path.join(cls.base, ".zshrc"), "w", encoding="utf-8") as file:
            file.write(ZSHRC % os.path.join(SHARE, "zsh", "site-functions"))
        open(cls.found, "w").close()
        cls.pid, cls.terminal = pty.fork()
        if not cls.pid:
            os.chdir(ROOT)
            os.execvpe("zsh", ["zsh", "-i"], {**os.environ, "ZDOTDIR": cls.base,
                                              "FOUND": cls.found, "TERM": "dumb"})
        cls.wait()

    @classmethod
    def tearDownClass(cls):
        os.close(cls.terminal)
        os.waitpid(cls.pid, 0)
        super().tearDownClass()

    @classmethod
    def wait(cls):
        """Returns the words that were found since the last call."""
        until = time.monotonic() + PATIENCE_S
        while not (text := read(cls.found)).endswith("END\n"):
            if time.monotonic() > until:
                raise AssertionError(f"zsh does not answer; it found: {text}")
            if select.select([cls.terminal], [], [], 0.05)[0]:
                os.read(cls.terminal, 65536)
        open(cls.found, "w").close()
        return text.splitlines()[:-1]

    def words(self, line):
        os.write(self.terminal, line.encode() + b"\t")
        return self.wait()

    def test_commands(self):
        found = self.words("profrun ")
        self.assertLessEqual(set(COMMANDS), set(found))
        self.assertIn("report", self.words("profrun repo"))

    def test_every_option(self):
        options = {}
        for command, option, _, _ in rows("--list-options"):
            options.setdefault(command, set()).add(option)
        for command, names in options.items():
            line = "profrun -" if command == "run" else f"profrun {command} -"
            self.assertLessEqual(names, set(self.words(line)), command)

    def test_every_value(self):
        for command, option, words in rows("--list-values"):
            line = "profrun" if command == "run" else f"profrun {command}"
            self.assertEqual(self.words(f"{line} {option} "), words.split())

    def test_settings(self):
        for name, _, _, _, _, words in rows("--list-settings"):
            if words:
                self.assertEqual(self.words(f"{name}="), words.split())

    def test_formats_and_files(self):
        self.assertEqual(self.words("profrun export --format perfetto,c"), ["chrome", "csv"])
        self.assertEqual(self.words("profrun report READ"), ["README.md"])
        self.assertEqual(self.words("profrun -o out cat READ"), ["README.md"])


if __name__ == "__main__":
    unittest.main()
