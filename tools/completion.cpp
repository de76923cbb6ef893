// mcc completion: shell scripts that complete subcommands, options and file names. They are
// generated from the command line's own description, so they never fall behind it.
#include <cstdio>
#include <memory>

#include "tools/commands.h"

namespace mcc::tools {

namespace {

// "--name" or "-n" of every option of a command.
std::vector<std::string> option_names(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    for (const std::string& name : option->get_snames()) names.push_back("-" + name);
  }
  return names;
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

std::vector<const CLI::App*> commands_of(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

std::string command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : commands_of(app)) names.push_back(command->get_name());
  return joined(names);
}

std::string bash_script(const CLI::App& app) {
  std::string text =
      "# bash completion for mcc: source <(mcc completion bash)\n"
      "_mcc() {\n"
      "  local word=\"${COMP_WORDS[COMP_CWORD]}\" command=\"\" i options\n"
      "  for ((i = 1; i < COMP_CWORD; ++i)); do\n"
      "    case \"${COMP_WORDS[i]}\" in -*) ;; *) command=\"${COMP_WORDS[i]}\"; break ;; esac\n"
      "  done\n"
      "  case \"$command\" in\n";
  for (const CLI::App* command : commands_of(app)) {
    text += "    " + command->get_name() + ") options=\"" + joined(option_names(*command)) + "\" ;;\n";
  }
  text += "    *) options=\"" + command_names(app) + " " + joined(option_names(app)) + "\" ;;\n";
  text +=
      "  esac\n"
      "  if [[ \"$word\" == -* || -z \"$command\" ]]; then\n"
      "    mapfile -t COMPREPLY < <(compgen -W \"$options\" -- \"$word\")\n"
      "  else\n"
      "    mapfile -t COMPREPLY < <(compgen -f -- \"$word\")\n"
      "  fi\n"
      "}\n"
      "complete -o filenames -F _mcc mcc\n";
  return text;
}

// Descriptions are our own words; quotes and brackets are dropped for the shells' sake.
std::string plain(const std::string& description) {
  std::string text;
  for (char c : description) {
    if (c == '\'' || c == '[' || c == ']' || c == ':' || c == '"' || c == '\\') continue;
    text += c;
  }
  return text;
}

std::string zsh_script(const CLI::App& app) {
  std::string text =
      "#compdef mcc\n"
      "# zsh completion for mcc: mcc completion zsh > a directory of $fpath, as _mcc\n"
      "_mcc() {\n"
      "  local -a commands\n"
      "  commands=(\n";
  for (const CLI::App* command : commands_of(app)) {
    text += "    '" + command->get_name() + ":" + plain(command->get_description()) + "'\n";
  }
  text +=
      "  )\n"
      "  if (( CURRENT == 2 )); then\n"
      "    _describe 'command' commands\n"
      "    return\n"
      "  fi\n"
      "  case \"$words[2]\" in\n";
  for (const CLI::App* command : commands_of(app)) {
    text += "    " + command->get_name() + ")\n      _arguments '*:file:_files'";
    for (const CLI::Option* option : command->get_options()) {
      const bool takes_value = option->get_items_expected_max() > 0;
      for (const std::string& name : option->get_lnames()) {
        text += " \\\n        '--" + name + "[" + plain(option->get_description()) + "]" +
                (takes_value ? ":value:_files" : "") + "'";
      }
    }
    text += "\n      ;;\n";
  }
  return text + "  esac\n}\n_mcc \"$@\"\n";
}

std::string fish_script(const CLI::App& app) {
  std::string text = "# fish completion for mcc: mcc completion fish | source\n";
  for (const CLI::App* command : commands_of(app)) {
    const std::string name = command->get_name();
    text += "complete -c mcc -n __fish_use_subcommand -f -a " + name + " -d '" +
            plain(command->get_description()) + "'\n";
    for (const CLI::Option* option : command->get_options()) {
      for (const std::string& long_name : option->get_lnames()) {
        text += "complete -c mcc -n '__fish_seen_subcommand_from " + name + "' -l " + long_name +
                (option->get_items_expected_max() > 0 ? " -r" : "") + " -d '" +
                plain(option->get_description()) + "'\n";
      }
    }
  }
  return text;
}

struct ShellRow {
  const char* name;
  std::string (*script)(const CLI::App&);
};
constexpr ShellRow kShells[] = {{"bash", bash_script}, {"zsh", zsh_script}, {"fish", fish_script}};

}  // namespace

void add_completion(CLI::App& app, ToolContext& context) {
  auto shell = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand("completion", "Print a completion script for a shell");
  command->add_option("shell", *shell, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  command->callback([shell, &context] {
    for (const ShellRow& row : kShells) {
      if (*shell != row.name) continue;
      const std::string script = row.script(*context.app);
      std::fwrite(script.data(), 1, script.size(), stdout);
    }
  });
}

}  // namespace mcc::tools
