"""The tables of commands, options and settings, as the tool prints them (export/listing.h)."""
import collections
import re
import subprocess

Command = collections.namedtuple("Command", "name usage summary latest")
Option = collections.namedtuple("Option", "command name argument help")
Setting = collections.namedtuple("Setting", "name default range unit meaning words")


class Tables:
    def __init__(self, tool):
        self.commands = [Command(*row) for row in rows(tool, "--list-commands")]
        self.options = [Option(*row) for row in rows(tool, "--list-options")]
        self.settings = [Setting(*row) for row in rows(tool, "--list-settings")]
        self.values = {(command, option): words.split()
                       for command, option, words in rows(tool, "--list-values")}

    def options_of(self, command):
        return [option for option in self.options if option.command == command]


def rows(tool, word):
    text = subprocess.run([tool, word], check=True, stdout=subprocess.PIPE, text=True).stdout
    return [line.split("\t") for line in text.splitlines()]


def version():
    """Returns the version and its date, from the headings of CHANGELOG.md."""
    with open("CHANGELOG.md", encoding="utf-8") as file:
        return re.search(r"^## \[([\d.]+)\] - ([\d-]+)$", file.read(), re.M).groups()
