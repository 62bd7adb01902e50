#include "admin/program.h"

#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "admin/after_restore.h"
#include "admin/backup.h"
#include "admin/database.h"
#include "admin/import_command.h"
#include "admin/reembed.h"
#include "admin/state_access.h"
#include "base/nearest_word.h"
#include "base/version.h"
#include "settings/json_schema.h"
#include "settings/load_file.h"
#include "settings/settings.h"
#include "state/maintenance.h"

namespace agent_graph::admin {
namespace {

struct Usage {
  std::string_view command;
  std::string_view arguments;
};
constexpr Usage kUsages[] = {
    {.command = "verify", .arguments = "DIRECTORY"},
    {.command = "backup", .arguments = "DIRECTORY NAME [UPLOADS]"},
    {.command = "restore", .arguments = "DIRECTORY BACKUP [UPLOADS]"},
    {.command = "repair", .arguments = "DIRECTORY"},
    {.command = "reembed", .arguments = "DIRECTORY SERVICE.JSON"},
    {.command = "migrate", .arguments = "DATABASE"},
    {.command = "verify", .arguments = "DATABASE"},
    {.command = "after-restore", .arguments = "DATABASE"},
    {.command = "import", .arguments = "--from leveldb DIRECTORY DATABASE"},
    {.command = "import", .arguments = "--from agentflow URL DATABASE|DIRECTORY"},
    {.command = "schema", .arguments = ""},
};

void PrintUsage(std::FILE* out) {
  const char* before = "usage:";
  for (const Usage& usage : kUsages) {
    std::fprintf(out, "%s agent-graph-admin %s%s%s\n", before, std::string(usage.command).c_str(),
                 usage.arguments.empty() ? "" : " ", std::string(usage.arguments).c_str());
    before = "      ";
  }
  std::fputs(
      "       agent-graph-admin --help | --version\n"
      "DIRECTORY is the service's state=; UPLOADS is where it keeps files, if not in\n"
      "DIRECTORY/uploads; BACKUP is a NAME, or the folder of a copy. verify and repair\n"
      "also take the folder of a copy. DATABASE is a SERVICE.JSON whose checkpointer is a\n"
      "PostgreSQL, or its URL. schema prints the JSON Schema of service.json.\n",
      out);
}

// True for an option that asks for help. It may also follow the name of a command.
bool AsksForHelp(const std::string& argument) {
  return argument == "--help" || argument == "-h";
}

// Writes one line about a call that is no command, and returns the exit status.
int RefuseCall(const std::string& name, const Output& output) {
  std::string forms;
  std::vector<std::string_view> names;
  for (const Usage& usage : kUsages) {
    names.push_back(usage.command);
    if (usage.command != name) continue;
    const std::string arguments(usage.arguments.empty() ? "no arguments" : usage.arguments);
    forms += (forms.empty() ? " takes " : ", or ") + arguments;
  }
  std::string problem = name + forms;
  if (forms.empty()) {
    const std::string nearest(NearestWord(name, names));
    problem = "there is no command \"" + name + '"' +
              (nearest.empty() ? "" : "; did you mean " + nearest + "?");
  }
  std::fprintf(output.err, "agent-graph-admin: %s (`agent-graph-admin --help` shows all)\n",
               problem.c_str());
  return 2;
}

// A command that was accepted, with the state directory that it names.
struct Call {
  const std::vector<std::string>& arguments;  // behind the name of the command
  const settings::Settings& settings;         // loaded if the command takes them
  const Output& output;
  StateAccess& state;

  std::string uploads() const {
    return arguments.size() > 2 ? arguments[2] : state.directory().path() + "/uploads";
  }
};

// Prints the result of verify and returns the exit status.
int ShowReport(const Result<state::VerifyReport>& report, const Output& output) {
  if (!report.ok()) return Fail(output, report.status());
  std::FILE* const out = output.out;
  for (const std::string& problem : report->problems) std::fprintf(out, "%s\n", problem.c_str());
  std::fprintf(out, "%llu rows, %llu threads, %llu memories, %llu problems\n", Number(report->rows),
               Number(report->threads), Number(report->memories), Number(report->problem_count));
  return report->problem_count == 0 ? 0 : 1;
}

int RunVerify(const Call& call) {
  if (call.state.stopped()) return ShowReport(call.state.closed()->Verify(), call.output);
  return ShowReport(call.state.Ask([](state::Backend& client) { return client.Verify(); }),
                    call.output);
}

int RunBackup(const Call& call) {
  const auto made = MakeBackup(call.state, call.arguments[1], call.uploads());
  if (!made.ok()) return Fail(call.output, made.status());
  std::fprintf(call.output.out, "%s: %llu rows, %llu bytes; %llu files, %llu bytes\n",
               made->place.c_str(), Number(made->database.rows), Number(made->database.bytes),
               Number(made->files.files), Number(made->files.bytes));
  return 0;
}

int RunRestore(const Call& call) {
  const auto replaced = RestoreBackup(call.state, call.arguments[1], call.uploads());
  if (!replaced.ok()) return Fail(call.output, replaced.status());
  std::string before;
  for (const std::string& kept : {replaced->database, replaced->uploads}) {
    if (kept.empty()) continue;
    before += (before.empty() ? "; what was there before is " : " and ") + kept;
  }
  std::fprintf(call.output.out, "restored, %llu files%s\n", Number(replaced->files.files),
               before.c_str());
  return 0;
}

int RunRepair(const Call& call) {
  if (!call.state.stopped()) {
    return Fail(call.output, Status(StatusCode::kBusy, "the state is in use: stop nginx first"));
  }
  if (Status repaired = call.state.closed()->Repair(); !repaired.ok()) {
    return Fail(call.output, repaired);
  }
  return RunVerify(call);
}

int RunReembed(const Call& call) {
  const auto done = Reembed(call.state, call.settings);
  if (!done.ok()) return Fail(call.output, done.status());
  std::fprintf(
      call.output.out, "%llu memories, %llu embedded anew, %llu changed meanwhile, %llu refused\n",
      Number(done->looked_at), Number(done->embedded), Number(done->changed), Number(done->failed));
  return done->failed == 0 ? 0 : 1;
}

// A command on a database, with the URL of the database.
struct DatabaseCall {
  const std::vector<std::string>& arguments;  // behind the name of the command
  const std::string& url;
  const Output& output;
};

int RunMigrate(const DatabaseCall& call) {
  int steps = 0;
  const Status migrated = MigrateDatabase(call.url, [&](int number, const char* name) {
    ++steps;
    std::fprintf(call.output.out, "step %d: %s\n", number, name);
  });
  if (!migrated.ok()) return Fail(call.output, migrated);
  if (steps == 0) std::fputs("the tables are up to date\n", call.output.out);
  return 0;
}

int RunVerifyDatabase(const DatabaseCall& call) {
  return ShowReport(VerifyDatabase(call.url), call.output);
}

int RunAfterRestore(const DatabaseCall& call) {
  const Result<AfterRestore> done = FinishRestore(call.url);
  if (!done.ok()) return Fail(call.output, done.status());
  std::fprintf(call.output.out, "history %s: %llu hosts of the backup are dead, %llu runs ended\n",
               done->history.c_str(), Number(done->hosts), Number(done->runs));
  return 0;
}

struct DatabaseCommand {
  std::string_view name;
  size_t arguments;  // the last one names the database
  int (*run)(const DatabaseCall& call);
};
constexpr DatabaseCommand kDatabaseCommands[] = {
    {.name = "migrate", .arguments = 1, .run = RunMigrate},
    {.name = "verify", .arguments = 1, .run = RunVerifyDatabase},
    {.name = "after-restore", .arguments = 1, .run = RunAfterRestore},
};

// Returns null if the words are no command on a database.
const DatabaseCommand* FindDatabaseCommand(std::string_view name,
                                           const std::vector<std::string>& operands) {
  for (const DatabaseCommand& command : kDatabaseCommands) {
    if (command.name != name || command.arguments != operands.size()) continue;
    // The other `verify` takes the state of a service.
    if (name != "verify" || NamesDatabase(operands.back())) return &command;
  }
  return nullptr;
}

int RunOnDatabase(const DatabaseCommand& command, const std::vector<std::string>& operands,
                  const Output& output) {
  const Result<std::string> url = DatabaseUrlOf(operands.back());
  if (!url.ok()) return Fail(output, url.status());
  return command.run({operands, *url, output});
}

struct Command {
  std::string_view name;
  size_t arguments_min;
  size_t arguments_max;
  int (*run)(const Call& call);
  bool takes_backups = false;         // accepts the folder of a backup as DIRECTORY
  bool makes_state = false;           // DIRECTORY may be empty
  bool takes_settings = false;        // the second argument is service.json
  const char* in_postgres = nullptr;  // what to do instead if the state is in PostgreSQL
};
constexpr Command kCommands[] = {
    {.name = "verify",
     .arguments_min = 1,
     .arguments_max = 1,
     .run = RunVerify,
     .takes_backups = true,
     .in_postgres = "run agent-graph-admin verify SERVICE.JSON"},
    {.name = "backup",
     .arguments_min = 2,
     .arguments_max = 3,
     .run = RunBackup,
     .in_postgres = "back the database up with its own tools, such as pg_dump"},
    {.name = "restore",
     .arguments_min = 2,
     .arguments_max = 3,
     .run = RunRestore,
     .makes_state = true,
     .in_postgres = "restore the database with its own tools, such as pg_restore, then run "
                    "agent-graph-admin after-restore SERVICE.JSON"},
    {.name = "repair",
     .arguments_min = 1,
     .arguments_max = 1,
     .run = RunRepair,
     .takes_backups = true,
     .in_postgres = "PostgreSQL repairs itself after a crash; restore one whose disk is damaged "
                    "from a backup, then run agent-graph-admin verify SERVICE.JSON"},
    {.name = "reembed",
     .arguments_min = 2,
     .arguments_max = 2,
     .run = RunReembed,
     .takes_settings = true},
};

// Returns null if there is no such command, or if it takes another number of arguments.
const Command* FindCommand(std::string_view name, size_t arguments) {
  const Command* found = std::ranges::find(kCommands, name, &Command::name);
  if (found == std::end(kCommands) || arguments < found->arguments_min ||
      arguments > found->arguments_max) {
    return nullptr;
  }
  return found;
}

// True for a readable folder in which no state server has ever run.
bool HoldsNoState(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_directory(path, error) || error) return false;
  for (const char* entry : {"/db", "/owner.lock"}) {
    if (std::filesystem::exists(path + entry, error) || error) return false;
  }
  return true;
}

// True for the state directory of a host that has, or had, its rows in PostgreSQL.
bool IsOfPostgresHost(const std::string& path) {
  std::error_code error;
  return std::filesystem::exists(path + "/instance", error);
}

bool HasLevelDatabase(const std::string& path) {
  std::error_code error;
  return std::filesystem::exists(path + "/db", error);
}

Status InPostgres(const Command& command) {
  return Status(
      StatusCode::kNotConfigured,
      "the state is in PostgreSQL: " + std::string(command.in_postgres) + " (docs/scale-out.md)");
}

Status CheckDirectory(const Command& command, const std::string& path) {
  const std::string directory =
      "DIRECTORY is what state= of agent_graph_service names in nginx.conf";
  if (NamesDatabase(path)) {
    // A URL is not shown, because it has a password.
    const bool in_postgres = DatabaseUrlOf(path).ok();
    if (in_postgres && command.in_postgres != nullptr) return InPostgres(command);
    return InvalidArgument(in_postgres ? directory : path + ": is a file; " + directory);
  }
  if (command.makes_state || !HoldsNoState(path)) return Status::Ok();
  return NotFound(path + ": contains no state of a service; " + directory);
}

}  // namespace

int RunProgram(const std::vector<std::string>& arguments, const Output& output) {
  const std::string name = arguments.empty() ? "" : arguments.front();
  if (std::ranges::any_of(arguments, AsksForHelp)) {
    PrintUsage(output.out);
    return 0;
  }
  if (name == "--version") {
    std::fprintf(output.out, "agent-graph-admin %s\n", kVersion);
    return 0;
  }
  if (name == "schema" && arguments.size() == 1) {
    std::fputs(settings::ServiceSchema().c_str(), output.out);
    return 0;
  }
  const std::vector<std::string> operands(arguments.begin() + (arguments.empty() ? 0 : 1),
                                          arguments.end());
  if (name == "import" && operands.size() == 4 && operands[0] == "--from") {
    if (operands[1] == "leveldb") return RunLevelImport(operands[2], operands[3], output);
    if (operands[1] == "agentflow") return RunAgentFlowImport(operands[2], operands[3], output);
  }
  if (const DatabaseCommand* command = FindDatabaseCommand(name, operands)) {
    return RunOnDatabase(*command, operands, output);
  }
  const Command* command = FindCommand(name, operands.size());
  if (command == nullptr) {
    if (!name.empty()) return RefuseCall(name, output);
    PrintUsage(output.err);
    return 2;
  }
  // Read the file before root becomes another user, who may not be allowed to read it.
  Result<settings::Settings> settings = settings::Settings();
  if (command->takes_settings) settings = settings::LoadFile(operands[1]);
  if (!settings.ok()) return Fail(output, settings.status());
  if (Status checked = CheckDirectory(*command, operands[0]); !checked.ok()) {
    return Fail(output, checked);
  }
  Result<StateAccess> state = StateAccess::Open(operands[0]);
  if (!state.ok()) return Fail(output, state.status());
  // A running host answers by itself, except to those who would have to stop it first.
  const bool is_answered = !state->stopped() && command->run != RunRepair;
  if (!is_answered && command->in_postgres != nullptr && IsOfPostgresHost(operands[0])) {
    if (HasLevelDatabase(operands[0])) {
      std::fprintf(output.err,
                   "agent-graph-admin: nginx has also kept this state in PostgreSQL; this command "
                   "uses the LevelDB in %s/db\n",
                   operands[0].c_str());
    } else if (!command->makes_state) {
      return Fail(output, InPostgres(*command));
    }
  }
  if (state->is_backup() && !command->takes_backups) {
    return Fail(output, Status(StatusCode::kInvalidArgument,
                               operands[0] + ": is a backup, not the state of a service"));
  }
  return command->run({operands, *settings, output, *state});
}

}  // namespace agent_graph::admin
