// agent-graph-admin: maintains a service's state directory.
//
//   verify  DIRECTORY                    reads every row; exit status 1 if there are errors
//   backup  DIRECTORY NAME [UPLOADS]     makes a consistent copy in DIRECTORY/backups/NAME
//   restore DIRECTORY BACKUP [UPLOADS]   replaces the state by a copy; keeps the previous state
//   repair  DIRECTORY                    repairs a damaged database as far as it can be read
//   reembed DIRECTORY SERVICE.JSON       recomputes vectors of memories for another embedding
//
// verify, backup and reembed send requests to the state server if one is running, so that nginx
// need not be stopped. restore and repair require it to be stopped. verify and repair also accept
// the folder of a backup.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "admin/backup.h"
#include "admin/reembed.h"
#include "admin/state_access.h"
#include "base/text_position.h"
#include "base/version.h"
#include "settings/settings.h"
#include "state/leveldb/maintenance.h"

namespace {

namespace admin = agent_graph::admin;
namespace settings = agent_graph::settings;
namespace state = agent_graph::state;
using admin::StateAccess;
using agent_graph::Result;
using agent_graph::Status;
using agent_graph::StatusCode;

void PrintUsage(std::FILE* out) {
  std::fputs(
      "usage: agent-graph-admin verify DIRECTORY\n"
      "       agent-graph-admin backup DIRECTORY NAME [UPLOADS]\n"
      "       agent-graph-admin restore DIRECTORY BACKUP [UPLOADS]\n"
      "       agent-graph-admin repair DIRECTORY\n"
      "       agent-graph-admin reembed DIRECTORY SERVICE.JSON\n"
      "       agent-graph-admin --help | --version\n"
      "DIRECTORY is the service's state=; UPLOADS is where it keeps files, if not in\n"
      "DIRECTORY/uploads; BACKUP is a NAME, or the folder of a copy. verify and repair\n"
      "also take the folder of a copy.\n",
      out);
}

int Failed(const Status& status) {
  std::fprintf(stderr, "agent-graph-admin: %s\n", status.ToString().c_str());
  return 1;
}

unsigned long long Number(uint64_t value) {
  return value;
}

int RunVerify(StateAccess& state) {
  Result<state::VerifyReport> report = Status(StatusCode::kInternal, "");
  if (state.stopped()) {
    auto database = state::Database::OpenDirectory(state.directory().database_path());
    if (!database.ok()) return Failed(database.status());
    report = state::Verify(**database);
  } else {
    report = state.Ask([](state::Client& client) { return client.Verify(); });
  }
  if (!report.ok()) return Failed(report.status());
  for (const std::string& problem : report->problems) std::printf("%s\n", problem.c_str());
  std::printf("%llu rows, %llu threads, %llu memories, %llu problems\n", Number(report->rows),
              Number(report->threads), Number(report->memories), Number(report->problem_count));
  return report->problem_count == 0 ? 0 : 1;
}

std::string UploadsOf(const StateAccess& state, const std::vector<std::string>& arguments) {
  return arguments.size() > 2 ? arguments[2] : state.directory().path() + "/uploads";
}

int RunBackup(StateAccess& state, const std::vector<std::string>& arguments) {
  const auto made = admin::MakeBackup(state, arguments[1], UploadsOf(state, arguments));
  if (!made.ok()) return Failed(made.status());
  std::printf("%s: %llu rows, %llu bytes; %llu files, %llu bytes\n", made->place.c_str(),
              Number(made->database.rows), Number(made->database.bytes), Number(made->files.files),
              Number(made->files.bytes));
  return 0;
}

int RunRestore(StateAccess& state, const std::vector<std::string>& arguments) {
  const auto replaced = admin::RestoreBackup(state, arguments[1], UploadsOf(state, arguments));
  if (!replaced.ok()) return Failed(replaced.status());
  std::printf("restored, %llu files; what was there before is %s and %s\n",
              Number(replaced->files.files), replaced->database.c_str(), replaced->uploads.c_str());
  return 0;
}

int RunRepair(StateAccess& state) {
  if (!state.stopped()) {
    return Failed(Status(StatusCode::kBusy, "the state is in use: stop nginx first"));
  }
  if (Status repaired = state::Repair(state.directory().database_path()); !repaired.ok()) {
    return Failed(repaired);
  }
  return RunVerify(state);
}

Result<settings::Settings> LoadSettings(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(in)), {});
  if (!in) return Status(StatusCode::kNotFound, file + ": cannot be read");
  settings::Environment environment;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view pair(*variable);
    const size_t equals = pair.find('=');
    if (equals == std::string_view::npos) continue;
    environment[std::string(pair.substr(0, equals))] = pair.substr(equals + 1);
  }
  auto loaded = settings::Load(std::filesystem::absolute(file).string(), text, environment);
  if (loaded.ok()) return loaded;
  return Status(loaded.status().code(), FileProblem(file, loaded.status()));
}

int RunReembed(StateAccess& state, const settings::Settings& settings) {
  const auto done = admin::Reembed(state, settings);
  if (!done.ok()) return Failed(done.status());
  std::printf("%llu memories, %llu embedded anew, %llu changed meanwhile, %llu refused\n",
              Number(done->looked_at), Number(done->embedded), Number(done->changed),
              Number(done->failed));
  return done->failed == 0 ? 0 : 1;
}

struct Command {
  std::string_view name;
  size_t arguments_min;
  size_t arguments_max;
  bool takes_backups = false;  // accepts the folder of a backup as DIRECTORY
};
constexpr Command kCommands[] = {
    {.name = "verify", .arguments_min = 1, .arguments_max = 1, .takes_backups = true},
    {.name = "backup", .arguments_min = 2, .arguments_max = 3},
    {.name = "restore", .arguments_min = 2, .arguments_max = 3},
    {.name = "repair", .arguments_min = 1, .arguments_max = 1, .takes_backups = true},
    {.name = "reembed", .arguments_min = 2, .arguments_max = 2},
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

}  // namespace

int main(int argc, char** argv) {
  const std::string command = argc > 1 ? argv[1] : "";
  const std::vector<std::string> arguments(argv + std::min(argc, 2), argv + argc);
  if (command == "--help" || command == "-h") {
    PrintUsage(stdout);
    return 0;
  }
  if (command == "--version") {
    std::printf("agent-graph-admin %s\n", agent_graph::kVersion);
    return 0;
  }
  const Command* known = FindCommand(command, arguments.size());
  if (known == nullptr) {
    PrintUsage(stderr);
    return 2;
  }
  // Read the file before root becomes another user, who may not be allowed to read it.
  Result<settings::Settings> settings = settings::Settings();
  if (command == "reembed") settings = LoadSettings(arguments[1]);
  if (!settings.ok()) return Failed(settings.status());
  Result<StateAccess> state = StateAccess::Open(arguments[0]);
  if (!state.ok()) return Failed(state.status());
  if (state->is_backup() && !known->takes_backups) {
    return Failed(Status(StatusCode::kInvalidArgument,
                         arguments[0] + ": is a backup, not the state of a service"));
  }
  if (command == "verify") return RunVerify(*state);
  if (command == "backup") return RunBackup(*state, arguments);
  if (command == "restore") return RunRestore(*state, arguments);
  if (command == "reembed") return RunReembed(*state, *settings);
  return RunRepair(*state);
}
