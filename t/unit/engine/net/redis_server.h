// A real redis-server on its own Unix socket, without persistence.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <vector>

namespace agent_graph::testing {

class RedisServer {
 public:
  // A socket path for a server that is not running yet.
  static std::string NewSocketPath() {
    std::string directory = ::testing::TempDir() + "redisXXXXXX";
    EXPECT_NE(mkdtemp(directory.data()), nullptr);
    return directory + "/socket";
  }

  explicit RedisServer(std::string socket_path = NewSocketPath(),
                       std::vector<std::string> options = {})
      : socket_path_(std::move(socket_path)) {
    int ends[2];
    EXPECT_EQ(pipe(ends), 0);
    std::vector<std::string> arguments = {"redis-server", "--port",      "0", "--unixsocket",
                                          socket_path_,   "--save",      "",  "--appendonly",
                                          "no",           "--daemonize", "no"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    process_ = fork();
    if (process_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);  // ends the server if the test is killed
      dup2(ends[1], STDOUT_FILENO);
      std::vector<char*> pointers;
      for (std::string& argument : arguments) pointers.push_back(argument.data());
      pointers.push_back(nullptr);
      execvp(pointers[0], pointers.data());
      _exit(127);
    }
    close(ends[1]);
    WaitUntilReady(ends[0]);
    close(ends[0]);
  }
  ~RedisServer() { Stop(); }
  RedisServer(const RedisServer&) = delete;
  RedisServer& operator=(const RedisServer&) = delete;

  void Stop() {
    if (process_ <= 0) return;
    kill(process_, SIGKILL);
    waitpid(process_, nullptr, 0);
    process_ = 0;
    unlink(socket_path_.c_str());
  }
  // Stops the server: it keeps its connections but does not answer.
  void Hang() {
    kill(process_, SIGSTOP);
    // kill() returns before the signal takes effect: a thread on another core may still answer.
    waitpid(process_, nullptr, WUNTRACED);
  }
  void GoOn() { kill(process_, SIGCONT); }

  const std::string& socket_path() const { return socket_path_; }
  // With a long timeout, because answers may take longer than the default on a loaded machine.
  std::string Url() const { return ImpatientUrl() + "?timeout_ms=60000"; }
  std::string ImpatientUrl() const { return "unix://" + socket_path_; }

 private:
  static void WaitUntilReady(int output) {
    std::string text;
    char buffer[512];
    while (text.find("eady to accept connections") == std::string::npos) {
      ssize_t got = read(output, buffer, sizeof buffer);
      ASSERT_GT(got, 0) << "redis-server (Debian package redis-server) did not start: " << text;
      text.append(buffer, static_cast<size_t>(got));
    }
  }

  const std::string socket_path_;
  pid_t process_ = 0;
};

}  // namespace agent_graph::testing
