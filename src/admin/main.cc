// agent-graph-admin: looks after a service's state directory.
//
//   verify  DIRECTORY          reads every row; 1 when something is wrong
//   backup  DIRECTORY NAME     a consistent copy, in DIRECTORY/backups/NAME
//   restore DIRECTORY BACKUP   puts a copy in the place of the database, which is kept aside
//   repair  DIRECTORY          mends a damaged database as far as it can be read
//
// verify and backup ask the state owner when there is one, so that nginx need not be stopped;
// restore and repair want it stopped.
#include <grp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <string>
#include <system_error>

#include "base/clock.h"
#include "base/errno_text.h"
#include "state/client.h"
#include "state/leveldb/maintenance.h"
#include "state/owner/directory.h"

namespace {

using namespace agent_graph;
using namespace agent_graph::state;
namespace fs = std::filesystem;

constexpr std::chrono::hours kPatience{24};

int Usage() {
  std::fprintf(stderr,
               "usage: agent-graph-admin verify DIRECTORY\n"
               "       agent-graph-admin backup DIRECTORY NAME\n"
               "       agent-graph-admin restore DIRECTORY BACKUP\n"
               "       agent-graph-admin repair DIRECTORY\n"
               "DIRECTORY is the service's state=\n");
  return 2;
}

int Failed(const Status& status) {
  std::fprintf(stderr, "agent-graph-admin: %s\n", status.ToString().c_str());
  return 1;
}

// What root makes in the directory the workers could not open.
Status BecomeOwnerOf(const std::string& directory) {
  struct stat info{};
  if (stat(directory.c_str(), &info) != 0) {
    return Status(StatusCode::kNotFound, directory + ": " + ErrnoText(errno));
  }
  if (geteuid() != 0 || info.st_uid == 0) return Status::Ok();
  if (setgroups(0, nullptr) != 0 || setgid(info.st_gid) != 0 || setuid(info.st_uid) != 0) {
    return Status(StatusCode::kPermissionDenied, "cannot become the owner of " + directory);
  }
  return Status::Ok();
}

class Admin {
 public:
  static Result<Admin> Open(const std::string& path) {
    AG_RETURN_IF_ERROR(BecomeOwnerOf(path));
    AG_ASSIGN_OR_RETURN(StateDirectory directory, StateDirectory::Open(path));
    Admin admin(std::move(directory));
    Result<FileDescriptor> lock = admin.directory_.TryLock();
    if (lock.ok()) {
      admin.lock_ = std::move(*lock);
    } else if (lock.status().code() != StatusCode::kBusy) {
      return lock.status();
    }
    return admin;
  }

  int RunVerify() {
    Result<VerifyReport> report = Status(StatusCode::kInternal, "");
    if (stopped()) {
      auto database = Database::OpenDirectory(directory_.database_path());
      if (!database.ok()) return Failed(database.status());
      report = Verify(**database);
    } else {
      report = Ask([](Client& client) { return client.Verify(); });
    }
    if (!report.ok()) return Failed(report.status());
    for (const std::string& problem : report->problems) std::printf("%s\n", problem.c_str());
    std::printf("%llu rows, %llu threads, %llu memories, %llu problems\n", Number(report->rows),
                Number(report->threads), Number(report->memories), Number(report->problem_count));
    return report->problem_count == 0 ? 0 : 1;
  }

  int RunBackup(const std::string& name) {
    if (!IsBackupName(name)) {
      return Failed(Status(StatusCode::kInvalidArgument,
                           "NAME has letters, digits, '-', '_' and '.', at most 64"));
    }
    const std::string target = directory_.backup_path() + "/" + name;
    Result<BackupReport> report = Status(StatusCode::kInternal, "");
    if (stopped()) {
      auto database = Database::OpenDirectory(directory_.database_path());
      if (!database.ok()) return Failed(database.status());
      report = Backup(**database, target);
    } else {
      report = Ask([&](Client& client) { return client.Backup(name); });
    }
    if (!report.ok()) return Failed(report.status());
    std::printf("%s: %llu rows, %llu bytes\n", target.c_str(), Number(report->rows),
                Number(report->bytes));
    return 0;
  }

  int RunRestore(const std::string& backup) {
    if (!stopped()) return Failed(InUse());
    const std::string database = directory_.database_path();
    const std::string draft = database + ".restored";
    std::error_code error;
    if (!fs::exists(backup + "/CURRENT", error)) {
      return Failed(Status(StatusCode::kNotFound, backup + ": is no backup"));
    }
    fs::remove_all(draft, error);
    fs::copy(backup, draft, fs::copy_options::recursive, error);
    if (error) return Failed(Status(StatusCode::kUnavailable, backup + ": " + error.message()));
    if (auto copy = Database::OpenDirectory(draft); !copy.ok()) return Failed(copy.status());
    const std::string aside = database + "." + std::to_string(UnixMicros());
    if (fs::exists(database, error)) fs::rename(database, aside, error);
    if (!error) fs::rename(draft, database, error);
    if (error) return Failed(Status(StatusCode::kUnavailable, database + ": " + error.message()));
    // Made from the database that was here before.
    fs::remove_all(directory_.index_path(), error);
    std::printf("%s: restored; what was there before is %s\n", database.c_str(), aside.c_str());
    return 0;
  }

  int RunRepair() {
    if (!stopped()) return Failed(InUse());
    if (Status repaired = Repair(directory_.database_path()); !repaired.ok()) {
      return Failed(repaired);
    }
    return RunVerify();
  }

 private:
  explicit Admin(StateDirectory directory) : directory_(std::move(directory)) {}

  // No owner is running, and none can start while we are here.
  bool stopped() const { return static_cast<bool>(lock_); }

  static Status InUse() {
    return Status(StatusCode::kBusy, "the state is in use: stop nginx first");
  }
  static unsigned long long Number(uint64_t value) { return value; }

  template <typename Use>
  auto Ask(const Use& use) -> decltype(use(std::declval<Client&>())) {
    ClientOptions options;
    options.directory = directory_.path();
    options.operation_timeout = kPatience;
    Client client(options);
    AG_RETURN_IF_ERROR(client.Start());
    auto answer = use(client);
    client.Stop();
    return answer;
  }

  StateDirectory directory_;
  FileDescriptor lock_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return Usage();
  const std::string command = argv[1];
  const int wanted = command == "backup" || command == "restore" ? 4 : 3;
  if (argc != wanted) return Usage();
  Result<Admin> admin = Admin::Open(argv[2]);
  if (!admin.ok()) return Failed(admin.status());
  if (command == "verify") return admin->RunVerify();
  if (command == "backup") return admin->RunBackup(argv[3]);
  if (command == "restore") return admin->RunRestore(argv[3]);
  if (command == "repair") return admin->RunRepair();
  return Usage();
}
