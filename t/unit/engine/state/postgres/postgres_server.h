// A private PostgreSQL for tests: its own data, a Unix socket in a temporary directory, no
// password.
#pragma once

#include <fcntl.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "../requests.h"
#include "state/postgres/database/connection.h"

namespace agent_graph::state {

struct PostgresServerOptions {
  bool fsync = false;
};

// One server. Starting fails the test if PostgreSQL is not installed. The server ends with the
// thread that has started it, also if the test program is killed; the next one then removes its
// files.
class PostgresServer {
 public:
  explicit PostgresServer(PostgresServerOptions options = {}) : options_(options) {
    RemoveAbandoned();
    MakeDirectory();
    Start();
  }
  ~PostgresServer() {
    Thaw();
    Kill();
    std::filesystem::remove_all(directory_);
  }
  PostgresServer(const PostgresServer&) = delete;
  PostgresServer& operator=(const PostgresServer&) = delete;

  // The server that the tests of this program share; databases keep them apart.
  static PostgresServer& Shared() {
    static PostgresServer server;
    return server;
  }

  // Creates a database and returns its URL.
  std::string CreateDatabase() {
    const std::string name = "test" + std::to_string(++databases_);
    Execute("postgres", "CREATE DATABASE " + name);
    return Url(name);
  }
  std::string Url(const std::string& database) const {
    return "postgresql://postgres@/" + database + "?host=" + directory_ + "&port=" + kPort;
  }
  // Executes one SQL statement as the superuser.
  void Execute(const std::string& database, const std::string& sql) {
    postgres::ConnectionOptions options;
    options.url = Url(database);
    // To create a database takes long on a loaded machine.
    options.statement_timeout = kPatience;
    options.answer_timeout = kPatience;
    postgres::Connection connection(options);
    const Status executed = connection.RunScript(sql);
    EXPECT_TRUE(executed.ok()) << executed.ToString();
  }

  void Start() {
    process_ = Spawn();
    WaitUntilReady();
  }
  // Kills every process of the server, as a crash of its machine would.
  void Kill() {
    const std::vector<pid_t> processes = Processes();
    std::vector<int> ends;
    for (const pid_t process : processes) {
      ends.push_back(static_cast<int>(syscall(SYS_pidfd_open, process, 0)));
      kill(process, SIGKILL);
    }
    if (process_ != 0) waitpid(process_, nullptr, 0);
    process_ = 0;
    // A server does not start while a process of the last one is there.
    for (const int end : ends) {
      if (end < 0) continue;
      pollfd polled{end, POLLIN, 0};
      poll(&polled, 1, -1);
      close(end);
    }
  }
  // Ends it in an orderly way: sessions are closed.
  void Stop() {
    kill(process_, SIGINT);
    waitpid(process_, nullptr, 0);
    process_ = 0;
  }
  void Freeze() { SignalAll(SIGSTOP); }
  void Thaw() { SignalAll(SIGCONT); }

 private:
  static std::string Prefix() { return "/tmp/agent-graph-postgres-"; }
  std::string data() const { return directory_ + "/data"; }
  static void Fail(const std::string& what) { ADD_FAILURE() << "PostgreSQL for tests: " << what; }

  // The newest installed version's folder with programs.
  static std::string Programs() {
    std::string newest;
    int version = 0;
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator("/usr/lib/postgresql", error)) {
      const int found = atoi(entry.path().filename().c_str());
      if (found <= version || !std::filesystem::exists(entry.path() / "bin/postgres")) continue;
      version = found;
      newest = entry.path() / "bin";
    }
    if (newest.empty()) Fail("install the package postgresql");
    return newest;
  }

  void MakeDirectory() {
    directory_ = Prefix() + std::to_string(getpid()) + "-XXXXXX";
    if (mkdtemp(directory_.data()) == nullptr) return Fail("mkdtemp");
    std::filesystem::copy(Template(), data(), std::filesystem::copy_options::recursive);
    for (const auto& entry : std::filesystem::recursive_directory_iterator(directory_)) {
      GiveToServer(entry.path());
    }
    GiveToServer(directory_);
  }

  // A PostgreSQL server refuses to be root.
  static const passwd* ServerUser() { return geteuid() == 0 ? getpwnam("postgres") : nullptr; }
  static void GiveToServer(const std::string& path) {
    const passwd* const user = ServerUser();
    if (user != nullptr && lchown(path.c_str(), user->pw_uid, user->pw_gid) != 0) Fail("chown");
  }
  static void BecomeServerUser(const passwd* user) {
    if (user == nullptr) return;
    const gid_t group = user->pw_gid;
    if (setgroups(1, &group) != 0 || setgid(group) != 0 || setuid(user->pw_uid) != 0) _exit(126);
  }

  static pid_t Run(std::vector<std::string> arguments, const std::string& log) {
    std::vector<char*> pointers;
    for (std::string& argument : arguments) pointers.push_back(argument.data());
    pointers.push_back(nullptr);
    const passwd* const user = ServerUser();
    const pid_t parent = getpid();
    const pid_t process = fork();
    if (process != 0) return process;
    setpgid(0, 0);
    const int out = open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
    dup2(out, 1);
    dup2(out, 2);
    BecomeServerUser(user);
    // An immediate shutdown if the test program ends. Changing the user resets it.
    prctl(PR_SET_PDEATHSIG, SIGQUIT);
    if (getppid() != parent || chdir("/") != 0) _exit(126);
    char* environment[] = {nullptr};
    execve(pointers[0], pointers.data(), environment);
    _exit(127);
  }

  // An initialised data directory, made once for all test programs of this build.
  static std::string Template() {
    const std::string programs = Programs();
    const std::filesystem::path build =
        std::filesystem::read_symlink("/proc/self/exe").parent_path();
    const std::string version = std::filesystem::path(programs).parent_path().filename();
    const std::string result = build / ("postgres-template-" + version);
    const int lock = open((result + ".lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    flock(lock, LOCK_EX);
    if (!std::filesystem::exists(result)) MakeTemplate(programs, result);
    close(lock);
    return result;
  }
  static void MakeTemplate(const std::string& programs, const std::string& result) {
    std::string directory = Prefix() + std::to_string(getpid()) + "-XXXXXX";
    if (mkdtemp(directory.data()) == nullptr) return Fail("mkdtemp");
    GiveToServer(directory);
    const std::string log = directory + ".log";
    int status = -1;
    waitpid(Run({programs + "/initdb", "--pgdata=" + directory + "/data", "--locale=C.UTF-8",
                 "--encoding=UTF8", "--username=postgres", "--auth=trust", "--wal-segsize=1",
                 "--no-sync"},
                log),
            &status, 0);
    std::ostringstream text;
    text << std::ifstream(log).rdbuf();
    if (status != 0) Fail("initdb: " + text.str());
    const std::string made = result + ".new";
    std::filesystem::remove_all(made);
    std::filesystem::copy(directory + "/data", made, std::filesystem::copy_options::recursive);
    std::filesystem::rename(made, result);
    std::filesystem::remove_all(directory);
    std::filesystem::remove(log);
  }

  // Removes files of test programs that were killed.
  static void RemoveAbandoned() {
    const std::string prefix = std::filesystem::path(Prefix()).filename();
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator("/tmp", error)) {
      const std::string name = entry.path().filename();
      if (!name.starts_with(prefix)) continue;
      const pid_t owner = atoi(name.c_str() + prefix.size());
      if (owner > 0 && kill(owner, 0) != 0) std::filesystem::remove_all(entry.path(), error);
    }
  }

  pid_t Spawn() {
    const std::string onoff = options_.fsync ? "on" : "off";
    return Run({Programs() + "/postgres", "-D", data(), "-k", directory_, "-p", kPort, "-c",
                "listen_addresses=", "-c", "fsync=" + onoff, "-c", "full_page_writes=" + onoff,
                "-c", "max_connections=60", "-c", "shared_buffers=16MB"},
               directory_ + "/log");
  }
  void WaitUntilReady() {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    for (;;) {
      std::ifstream file(data() + "/postmaster.pid");
      std::string pid;
      std::string status;  // the last line
      if (std::getline(file, pid) && atoi(pid.c_str()) == process_) {
        for (std::string line; std::getline(file, line);) status = line;
        if (status.starts_with("ready")) return;
      }
      const int end = static_cast<int>(syscall(SYS_pidfd_open, process_, 0));
      pollfd polled{end, POLLIN, 0};
      const bool ended = poll(&polled, 1, 5) != 0;
      close(end);
      if (!ended && std::chrono::steady_clock::now() < deadline) continue;
      std::ostringstream text;
      text << std::ifstream(directory_ + "/log").rdbuf();
      return Fail("it does not start: " + text.str());
    }
  }

  // The postmaster and its children.
  std::vector<pid_t> Processes() const {
    std::vector<pid_t> processes;
    if (process_ == 0) return processes;
    processes.push_back(process_);
    const std::string task = std::to_string(process_);
    std::ifstream children("/proc/" + task + "/task/" + task + "/children");
    for (pid_t child = 0; children >> child;) processes.push_back(child);
    return processes;
  }
  void SignalAll(int signal) {
    for (const pid_t process : Processes()) kill(process, signal);
  }

  // Part of the name of the socket.
  static constexpr char kPort[] = "5432";

  const PostgresServerOptions options_;
  std::string directory_;
  pid_t process_ = 0;
  int databases_ = 0;
};

}  // namespace agent_graph::state
