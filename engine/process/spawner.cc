#include "process/spawner.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <initializer_list>
#include <optional>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "process/program.h"
#include "process/spawn_protocol.h"
#include "process/spawner_socket.h"

namespace agent_graph::process {
namespace {

constexpr std::chrono::seconds kEndGrace{2};  // between SIGTERM and SIGKILL
// Pause before a dead spawner is replaced; doubled while spawners die soon after their start.
constexpr std::chrono::milliseconds kRestartPauseMin{20};
constexpr std::chrono::milliseconds kRestartPauseMax{5'000};
constexpr size_t kClientsMax = kProgramsMax + 16;

// One connection and the program that it requested.
struct Client {
  int socket = -1;    // -1: closed, but its program has not ended yet
  pid_t program = 0;  // 0: not started, or has ended
  Deadline kill_at = kNoDeadline;
};

int OpenChildSignals() {
  sigset_t children;
  sigemptyset(&children);
  sigaddset(&children, SIGCHLD);
  pthread_sigmask(SIG_BLOCK, &children, nullptr);
  return signalfd(-1, &children, SFD_CLOEXEC | SFD_NONBLOCK);
}

// 0: no child has ended.
pid_t ReapChild(int& status) {
  siginfo_t info{};
  if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0) return 0;
  // Ends the processes that it left behind. Its group id is still valid because the child is not
  // reaped yet.
  kill(-info.si_pid, SIGKILL);
  waitpid(info.si_pid, &status, 0);
  return info.si_pid;
}

class Spawner {
 public:
  Spawner(SpawnerListener listener, int lifeline)
      : listener_(std::move(listener)), lifeline_(lifeline) {}

  void Run() {
    child_signals_ = OpenChildSignals();
    while (lifeline_ >= 0 || !clients_.empty()) Turn();
  }

 private:
  void Turn() {
    std::vector<pollfd> waits = {{child_signals_, POLLIN, 0}};
    waits.push_back({lifeline_, POLLIN, 0});  // poll skips negative descriptors
    waits.push_back({clients_.size() < kClientsMax ? listener_.socket : -1, POLLIN, 0});
    const size_t first = waits.size();
    for (const Client& client : clients_) waits.push_back({client.socket, POLLIN, 0});
    if (poll(waits.data(), waits.size(), PollTimeout()) < 0 && errno != EINTR) _exit(1);
    for (size_t i = first; i < waits.size(); ++i) {
      if (waits[i].revents != 0) Receive(clients_[i - first]);
    }
    if (waits[0].revents != 0) Reap();
    if (waits[1].revents != 0) LoseParent();
    if (waits[2].revents != 0) Accept();
    KillLate();
    std::erase_if(clients_,
                  [](const Client& client) { return client.socket < 0 && client.program == 0; });
  }

  int PollTimeout() const {
    Deadline next = kNoDeadline;
    for (const Client& client : clients_) next = std::min(next, client.kill_at);
    if (next == kNoDeadline) return -1;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(next - MonotonicClock::now());
    return static_cast<int>(std::max<int64_t>(left.count(), 0));
  }

  // The helper process has ended or is ending: its successor has a spawner of its own.
  void LoseParent() {
    listener_.End();
    close(lifeline_);
    lifeline_ = -1;
  }

  void Accept() {
    const int socket = accept4(listener_.socket, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (socket < 0) return;
    if (IsTrustedPeer(socket)) {
      clients_.push_back({socket});
    } else {
      close(socket);
    }
  }

  void Receive(Client& client) {
    Descriptors sent_along = {-1, -1, -1};
    const std::optional<std::string> packet = ReceivePacket(client.socket, &sent_along);
    if (!packet) return;
    if (packet->empty() || client.program != 0) {
      Leave(client);
    } else {
      Serve(client, *packet, sent_along[0]);
    }
    Close(sent_along);
  }

  static void Close(const Descriptors& descriptors) {
    for (int descriptor : descriptors) {
      if (descriptor >= 0) close(descriptor);
    }
  }

  void Serve(Client& client, const std::string& packet, int input) {
    StartReply reply;
    Descriptors pipes = {-1, -1, -1};
    Result<ProcessOptions> options = ReadOptions(packet);
    if (!options.ok()) {
      reply.error = options.status().message();
    } else if (Programs() >= kProgramsMax) {
      reply.error = "more than " + std::to_string(kProgramsMax) + " programs";
      reply.full = true;
    } else {
      options->input = input;
      Result<Program> program = StartProgram(*options);
      if (program.ok()) {
        reply.pid = client.program = program->pid;
        pipes = program->pipes;
      } else {
        reply.error = program.status().message();
      }
    }
    const bool sent = SendPacket(client.socket, ToPacket(reply), reply.pid != 0 ? &pipes : nullptr);
    Close(pipes);
    if (!sent || reply.pid == 0) Leave(client);
  }

  size_t Programs() const {
    return static_cast<size_t>(
        std::count_if(clients_.begin(), clients_.end(),
                      [](const Client& client) { return client.program != 0; }));
  }

  // The worker has closed the connection or has ended.
  void Leave(Client& client) {
    close(client.socket);
    client.socket = -1;
    if (client.program == 0) return;
    kill(-client.program, SIGTERM);
    client.kill_at = DeadlineAfter(kEndGrace);
  }

  void KillLate() {
    const auto now = MonotonicClock::now();
    for (Client& client : clients_) {
      if (client.kill_at > now) continue;
      if (client.program != 0) kill(-client.program, SIGKILL);
      client.kill_at = kNoDeadline;
    }
  }

  void Reap() {
    signalfd_siginfo ignored;
    while (read(child_signals_, &ignored, sizeof ignored) > 0) {
    }
    int status = 0;
    while (const pid_t pid = ReapChild(status)) TellEnd(pid, status);
  }

  void TellEnd(pid_t pid, int status) {
    for (Client& client : clients_) {
      if (client.program != pid) continue;
      client.program = 0;
      if (client.socket < 0) return;
      ProcessEnd end;
      if (WIFSIGNALED(status)) end.signal = WTERMSIG(status);
      if (WIFEXITED(status)) end.exit_code = WEXITSTATUS(status);
      (void)SendPacket(client.socket, ToPacket(end));
      Leave(client);
      return;
    }
  }

  SpawnerListener listener_;
  int lifeline_;
  int child_signals_ = -1;
  std::vector<Client> clients_;
};

// Keeps only the null device as 0 to 2 and `descriptors` from 3 on; closes all others.
bool KeepOnly(std::initializer_list<int*> descriptors) {
  const int end = 3 + static_cast<int>(descriptors.size());
  const int null = open("/dev/null", O_RDWR);
  if (null < 0) return false;
  for (int* descriptor : descriptors) {
    *descriptor = fcntl(*descriptor, F_DUPFD, end);
    if (*descriptor < 0) return false;
  }
  for (int standard = 0; standard < 3; ++standard) {
    if (dup2(null, standard) < 0) return false;
  }
  int next = 3;
  for (int* descriptor : descriptors) {
    *descriptor = dup3(*descriptor, next++, O_CLOEXEC);
    if (*descriptor < 0) return false;
  }
  return syscall(SYS_close_range, static_cast<unsigned>(end), ~0U, 0) == 0;
}

// Removes everything inherited from nginx's process and its terminal. The end of the lifeline ends
// us.
void TakeOver(SpawnerListener& listener, int& lifeline) {
  for (int number = 1; number < NSIG; ++number) {
    if (number != SIGKILL && number != SIGSTOP) signal(number, SIG_DFL);
  }
  for (int ignored : {SIGPIPE, SIGINT, SIGHUP, SIGQUIT, SIGTERM}) signal(ignored, SIG_IGN);
  sigset_t none;
  sigemptyset(&none);
  pthread_sigmask(SIG_SETMASK, &none, nullptr);
  if (!KeepOnly({&listener.socket, &listener.folder, &lifeline})) _exit(1);
}

// Forks the spawner, and a new one if it dies early.
class Keeper {
 public:
  Keeper(SpawnerListener listener, int lifeline, void (*on_start)())
      : listener_(std::move(listener)), lifeline_(lifeline), on_start_(on_start) {
    child_signals_ = OpenChildSignals();
  }

  [[noreturn]] void Run() {
    // The programs of a dead spawner die with it and become our children, and so do their children.
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    for (;;) {
      if (spawner_ == 0 && lifeline_ < 0) _exit(0);
      if (spawner_ == 0 && MonotonicClock::now() >= start_at_) Start();
      pollfd waits[] = {{child_signals_, POLLIN, 0}, {lifeline_, POLLIN, 0}};
      const int timeout = spawner_ == 0 ? static_cast<int>(pause_.count()) : -1;
      if (poll(waits, 2, timeout) < 0 && errno != EINTR) _exit(1);
      if (waits[0].revents != 0) Reap();
      if (waits[1].revents != 0) LoseParent();
    }
  }

 private:
  void Start() {
    started_ = MonotonicClock::now();
    const pid_t child = fork();
    if (child == 0) {
      on_start_();
      RunSpawner(listener_, lifeline_);
    }
    if (child > 0) {
      spawner_ = child;
    } else {
      Rest();
    }
  }

  void Rest() {
    const bool lived = MonotonicClock::now() - started_ > kRestartPauseMax;
    pause_ = lived ? kRestartPauseMin : std::min(pause_ * 2, kRestartPauseMax);
    start_at_ = DeadlineAfter(pause_);
  }

  // No client may wait on a socket that has no listener.
  void LoseParent() {
    listener_.End();
    close(lifeline_);
    lifeline_ = -1;
  }

  void Reap() {
    signalfd_siginfo ignored;
    while (read(child_signals_, &ignored, sizeof ignored) > 0) {
    }
    int status = 0;
    while (const pid_t pid = ReapChild(status)) {
      if (pid != spawner_) continue;
      if (WIFEXITED(status) && WEXITSTATUS(status) == 0) _exit(0);
      spawner_ = 0;
      Rest();
    }
  }

  SpawnerListener listener_;
  int lifeline_;
  void (*const on_start_)();
  int child_signals_ = -1;
  pid_t spawner_ = 0;
  Deadline started_{};
  Deadline start_at_{};
  std::chrono::milliseconds pause_ = kRestartPauseMin;
};

}  // namespace

void RunSpawner(SpawnerListener listener, int lifeline) {
  TakeOver(listener, lifeline);
  Spawner(std::move(listener), lifeline).Run();
  _exit(0);
}

void KeepSpawner(SpawnerListener listener, int lifeline, void (*on_start)()) {
  TakeOver(listener, lifeline);
  Keeper(std::move(listener), lifeline, on_start).Run();
}

}  // namespace agent_graph::process
