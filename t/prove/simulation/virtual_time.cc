#include "prove/simulation/virtual_time.h"

#include <vector>

namespace agent_graph::simulation {
namespace {

// A time at which nothing that the code computes from it is negative.
constexpr std::chrono::microseconds kStart{std::chrono::hours(24 * 365 * 50)};

std::chrono::microseconds now = kStart;
std::vector<bool> processes_run;

}  // namespace

void ResetTime() {
  now = kStart;
}
void PassTime(std::chrono::microseconds time) {
  now += time;
}
int64_t NowMicros() {
  return now.count();
}

void ResetProcesses() {
  processes_run.clear();
}
int64_t StartProcess() {
  processes_run.push_back(true);
  return static_cast<int64_t>(processes_run.size());
}
void EndProcess(int64_t process) {
  processes_run[static_cast<size_t>(process - 1)] = false;
}
bool ProcessRuns(int64_t process) {
  return processes_run[static_cast<size_t>(process - 1)];
}

// The linker replaces std::chrono::steady_clock::now, std::chrono::system_clock::now and
// ProcessEnded by these.
std::chrono::steady_clock::time_point SteadyNow() noexcept
    __asm__("__wrap__ZNSt6chrono3_V212steady_clock3nowEv");
std::chrono::system_clock::time_point SystemNow() noexcept
    __asm__("__wrap__ZNSt6chrono3_V212system_clock3nowEv");
bool Ended(int64_t process,
           uint64_t start_time) __asm__("__wrap__ZN11agent_graph12ProcessEndedElm");

std::chrono::steady_clock::time_point SteadyNow() noexcept {
  return std::chrono::steady_clock::time_point(now);
}
std::chrono::system_clock::time_point SystemNow() noexcept {
  return std::chrono::system_clock::time_point(now);
}
bool Ended(int64_t process, uint64_t) {
  return !ProcessRuns(process);
}

}  // namespace agent_graph::simulation
