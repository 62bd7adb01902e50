#include "process/process.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <thread>

#include "base/file_descriptor.h"
#include "process/spawner.h"
#include "runtime/signal.h"
#include "spawner_fixture.h"

namespace agent_graph::process {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

class ProcessTest : public SpawnerTest {
 protected:
  std::string ReadAll(Process& process) {
    std::string text;
    for (;;) {
      Result<std::string> piece = process.ReadOutput(never_, DeadlineAfter(kPatience));
      EXPECT_TRUE(piece.ok()) << piece.status().ToString();
      if (!piece.ok() || piece->empty()) return text;
      text += *piece;
    }
  }
  // The whole output of a shell script.
  std::string OutputOf(const ProcessOptions& options) {
    return Run([&]() -> std::string {
      Result<std::unique_ptr<Process>> process = Start(options);
      EXPECT_TRUE(process.ok()) << process.status().ToString();
      return process.ok() ? ReadAll(**process) : "";
    });
  }
  std::string EndOf(const std::string& script) {
    return Run([&] {
      auto process = Start(Shell(script));
      return (*process)->Wait(never_, DeadlineAfter(kPatience)).value().ToString();
    });
  }
  static void AwaitGone(pid_t pid) {
    const Deadline patience = DeadlineAfter(kPatience);
    while (kill(pid, 0) == 0 && MonotonicClock::now() < patience) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    EXPECT_NE(kill(pid, 0), 0) << pid;
  }

  // Names of the sockets, without the link to the current one.
  static std::set<std::string> SocketsIn(const std::string& directory) {
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(directory)) {
      const std::string name = entry.path().filename();
      if (name.starts_with("spawner.") && name != "spawner.sock") names.insert(name);
    }
    return names;
  }

  static FileDescriptor Bind(const std::string& path) {
    FileDescriptor socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    EXPECT_EQ(bind(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(listen(socket.get(), 8), 0);
    return socket;
  }
};

TEST_F(ProcessTest, ReadsAFileInPlaceOfAPipe) {
  const std::string name = directory_ + "/input";
  std::ofstream(name) << "what stands in the file";
  const int file = open(name.c_str(), O_RDONLY | O_CLOEXEC);
  ASSERT_GE(file, 0);
  Run([&] {
    ProcessOptions options = Shell("test -f /proc/self/fd/0 && cat");
    options.input = file;
    auto process = Start(options);
    ASSERT_TRUE(process.ok()) << process.status().ToString();
    EXPECT_EQ((*process)->Write("ignored", never_, DeadlineAfter(kPatience)).code(),
              StatusCode::kUnavailable);
    EXPECT_EQ(ReadAll(**process), "what stands in the file");
  });
  close(file);
}

TEST_F(ProcessTest, Streams) {
  Run([&] {
    auto process = Start(Shell("cat; echo trouble >&2"));
    EXPECT_TRUE(process.ok());
    const std::string large(1 << 20, 'x');  // more than a pipe holds
    std::string echoed;
    runtime::Promise<bool> read;
    runtime_.Spawn(
        [&] {
          echoed = ReadAll(**process);
          read.Set(true);
        },
        /*here=*/true);
    EXPECT_TRUE((*process)->Write(large, never_, DeadlineAfter(kPatience)).ok());
    (*process)->CloseInput();
    EXPECT_TRUE(read.Wait(nullptr, DeadlineAfter(kPatience)).ok());
    EXPECT_EQ(echoed, large);
    EXPECT_EQ((*process)->ReadErrors(never_, DeadlineAfter(kPatience)).value(), "trouble\n");
    EXPECT_EQ((*process)->Wait(never_, DeadlineAfter(kPatience)).value().exit_code, 0);
    return true;
  });
}

TEST_F(ProcessTest, HowAProgramEnds) {
  EXPECT_EQ(EndOf("exit 3"), "exited with code 3");
  EXPECT_EQ(EndOf("kill -9 $$"), "was ended by signal 9");
}

TEST_F(ProcessTest, ItGetsWhatItWasGivenAndNothingElse) {
  ProcessOptions options = Shell("pwd; ls /proc/self/fd | wc -l; env | sort; ulimit -c; ulimit -n");
  options.environment["GREETING"] = "hello world";
  options.directory = "/usr";
  options.limits.descriptors = 99;
  const std::string output = OutputOf(options);
  // The descriptors 0 to 2, and the one that ls itself opens.
  EXPECT_THAT(output, HasSubstr("/usr\n4\n"));
  EXPECT_THAT(output, HasSubstr("GREETING=hello world\n"));
  EXPECT_THAT(output, ::testing::Not(HasSubstr("HOME=")));
  EXPECT_THAT(output, ::testing::EndsWith("0\n99\n"));
}

TEST_F(ProcessTest, Limits) {
  ProcessOptions options = Shell("ulimit -v; ulimit -t; ulimit -f");
  options.limits.memory_bytes = 512 << 20;
  options.limits.cpu_seconds = 7;
  options.limits.file_bytes = 1 << 20;
  EXPECT_EQ(OutputOf(options), "524288\n7\n2048\n");
}

TEST_F(ProcessTest, ItsWholeGroupGoesWithIt) {
  std::istringstream pids(Run([&] {
    auto process = Start(Shell("sleep 1000 & echo $$ $!; wait"));
    std::string text;
    while (text.find('\n') == std::string::npos) {
      text += (*process)->ReadOutput(never_, DeadlineAfter(kPatience)).value();
    }
    EXPECT_EQ(getpgid((*process)->pid()), (*process)->pid());
    return text;
  }));  // destroyed: it is not needed any more
  pid_t shell = 0;
  pid_t sleeper = 0;
  pids >> shell >> sleeper;
  ASSERT_GT(sleeper, 0);
  AwaitGone(shell);
  AwaitGone(sleeper);
}

TEST_F(ProcessTest, WhatItLeavesBehindGoesWithIt) {
  std::istringstream pids(Run([&] {
    auto process = Start(Shell("sleep 1000 >/dev/null 2>&1 & echo $!"));
    EXPECT_TRUE((*process)->Wait(never_, DeadlineAfter(kPatience)).ok());
    return (*process)->ReadOutput(never_, DeadlineAfter(kPatience)).value();
  }));
  pid_t sleeper = 0;
  pids >> sleeper;
  ASSERT_GT(sleeper, 0);
  AwaitGone(sleeper);
}

TEST_F(ProcessTest, OneThatDoesNotWantToEndIsMadeTo) {
  const pid_t pid = Run([&] {
    auto process = Start(Shell("trap '' TERM; echo ready; while :; do sleep 0.1; done"));
    EXPECT_EQ((*process)->ReadOutput(never_, DeadlineAfter(kPatience)).value(), "ready\n");
    return (*process)->pid();
  });
  AwaitGone(pid);
}

TEST_F(ProcessTest, AWaitMayBeGivenUp) {
  Run([&] {
    auto process = Start(Shell("exec sleep 1000"));
    const Deadline soon = DeadlineAfter(std::chrono::milliseconds(20));
    EXPECT_EQ((*process)->ReadOutput(never_, soon).status().code(), StatusCode::kDeadlineExceeded);
    EXPECT_EQ((*process)->Wait(never_, soon).status().code(), StatusCode::kDeadlineExceeded);
    (*process)->Kill();
    EXPECT_EQ((*process)->ReadOutput(never_, DeadlineAfter(kPatience)).value(), "");
    EXPECT_FALSE((*process)->Wait(never_, DeadlineAfter(kPatience)).ok());
    return true;
  });
}

TEST_F(ProcessTest, WhatCannotBeStarted) {
  const auto failure = [&](const ProcessOptions& options) {
    return Run([&] { return Start(options).status(); });
  };
  ProcessOptions options = Shell("true");
  options.arguments[0] = "no-such-program";
  EXPECT_EQ(failure(options).code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(failure(options).message(), HasSubstr("No such file"));
  options = Shell("true");
  options.directory = "/no/such/directory";
  EXPECT_THAT(failure(options).message(), HasSubstr("cannot enter its directory"));
  options = Shell(std::string(200'000, ' '));
  EXPECT_EQ(failure(options).code(), StatusCode::kInvalidArgument);
  const Status nobody = Run([&] {
    return Launcher("/tmp/no-such-state")
        .Start(Shell("true"), never_, DeadlineAfter(kPatience))
        .status();
  });
  EXPECT_EQ(nobody.code(), StatusCode::kUnavailable);
}

TEST_F(ProcessTest, ManyAtOnceButNotWithoutEnd) {
  Run([&] {
    std::vector<std::unique_ptr<Process>> processes;
    for (size_t i = 0; i < kProgramsMax; ++i) {
      auto process = Start(Shell("read x"));
      EXPECT_TRUE(process.ok()) << i << process.status().ToString();
      if (!process.ok()) return false;
      processes.push_back(*std::move(process));
    }
    EXPECT_EQ(Start(Shell("true")).status().code(), StatusCode::kResourceExhausted);
    return true;
  });
}

TEST_F(ProcessTest, TheSpawnerServesItsClientsToTheEnd) {
  Run([&] {
    auto process = Start(Shell("read x; echo $x"));
    CutLifeline();
    // It accepts no new clients after it has noticed.
    while (Start(Shell("true")).ok()) {
      EXPECT_TRUE(runtime::SleepFor(std::chrono::milliseconds(1), nullptr).ok());
    }
    EXPECT_TRUE((*process)->Write("still here\n", never_, DeadlineAfter(kPatience)).ok());
    EXPECT_EQ(ReadAll(**process), "still here\n");
    return true;
  });
}

TEST_F(ProcessTest, RemovesItsSocketWhenItEnds) {
  EXPECT_EQ(SocketsIn(directory_).size(), 1U);
  CutLifeline();
  for (int i = 0; i < 2000 && !SocketsIn(directory_).empty(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_THAT(SocketsIn(directory_), IsEmpty());
}

// Their processes may have ended long ago, and other processes may have their ids now.
TEST_F(ProcessTest, SocketsThatNobodyListensOnAreRemoved) {
  const std::string first = *SocketsIn(directory_).begin();  // the socket that this process uses
  std::filesystem::rename(directory_ + "/" + first, directory_ + "/spawner.4.sock");
  Bind(directory_ + "/spawner.1.sock").Reset();
  Bind(directory_ + "/spawner." + std::to_string(getppid()) + ".sock").Reset();
  std::ofstream(directory_ + "/spawner.2.sock") << "no socket";
  std::filesystem::create_symlink("spawner.3.sock", directory_ + "/spawner.3.sock.new");
  const FileDescriptor living = Bind(directory_ + "/spawner.5.sock");
  Result<SpawnerListener> next = ListenForSpawner(directory_);
  ASSERT_TRUE(next.ok()) << next.status().ToString();
  EXPECT_THAT(SocketsIn(directory_),
              UnorderedElementsAre(next->name, "spawner.4.sock", "spawner.5.sock"));
  next->End();
  EXPECT_THAT(SocketsIn(directory_), UnorderedElementsAre("spawner.4.sock", "spawner.5.sock"));
}

TEST_F(ProcessTest, AKilledSpawnerIsStartedAgain) {
  std::istringstream pids(Run([&] {
    // The parent process of a program is the spawner.
    auto process = Start(Shell("sleep 1000 >/dev/null 2>&1 & echo $PPID $!; wait"));
    std::string text = (*process)->ReadOutput(never_, DeadlineAfter(kPatience)).value();
    EXPECT_EQ(kill(static_cast<pid_t>(std::stol(text)), SIGKILL), 0);
    EXPECT_FALSE((*process)->Wait(never_, DeadlineAfter(kPatience)).ok());
    for (int i = 0; i < 20; ++i) {
      // Killed again and again, also when it has hardly started.
      auto next = Start(Shell("echo $PPID"));
      EXPECT_TRUE(next.ok()) << next.status().ToString();
      if (!next.ok()) break;
      const std::string parent = ReadAll(**next);
      EXPECT_NE(parent, "");
      if (i % 7 == 0 && parent != "") kill(static_cast<pid_t>(std::stol(parent)), SIGKILL);
    }
    return text;
  }));
  pid_t first_spawner = 0;
  pid_t sleeper = 0;
  pids >> first_spawner >> sleeper;
  ASSERT_GT(sleeper, 0);
  AwaitGone(sleeper);
}

}  // namespace
}  // namespace agent_graph::process
