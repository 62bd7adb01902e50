// prove_simulation [--schedules N] [--seed S] [--jobs J] [--trace 1]
//
// Runs N schedules with the seeds S, S + 1, ... in J processes. Prints a table, and for a schedule
// that violates a law its seed and the law; `--seed S --trace 1` then shows it.
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "prove/simulation/schedule.h"
#include "prove/simulation/trace.h"

namespace agent_graph::simulation {
namespace {

struct Options {
  uint64_t schedules = 1;
  uint64_t seed = 1;
  uint64_t jobs = 1;
  bool trace = false;
};

constexpr uint64_t kViolationsShown = 5;

bool ReadOptions(int count, char** arguments, Options& options) {
  for (int i = 1; i + 1 < count; i += 2) {
    const std::string name = arguments[i];
    const uint64_t value = std::strtoull(arguments[i + 1], nullptr, 10);
    if (name == "--schedules") {
      options.schedules = value;
    } else if (name == "--seed") {
      options.seed = value;
    } else if (name == "--jobs" && value > 0) {
      options.jobs = value;
    } else if (name == "--trace") {
      options.trace = value > 0;
    } else {
      return false;
    }
  }
  return count % 2 == 1;
}

struct Totals {
  Counts counts;
  uint64_t schedules = 0;
  uint64_t violations = 0;
};

void Add(Totals& totals, const Counts& counts) {
  totals.counts.events += counts.events;
  totals.counts.runs += counts.runs;
  totals.counts.worker_deaths += counts.worker_deaths;
  totals.counts.server_deaths += counts.server_deaths;
  totals.counts.power_cuts += counts.power_cuts;
  totals.counts.cut_connections += counts.cut_connections;
}

// The schedules with the seeds first, first + stride, ...
Totals RunSome(const Options& options, uint64_t first) {
  Totals totals;
  for (uint64_t i = first; i < options.schedules; i += options.jobs) {
    if (options.trace) ShowTrace();
    Schedule schedule(options.seed + i);
    const std::string violation = schedule.Run();
    ++totals.schedules;
    Add(totals, schedule.counts());
    if (violation.empty()) continue;
    if (++totals.violations <= kViolationsShown) {
      std::printf("seed %llu: %s\n", static_cast<unsigned long long>(options.seed + i),
                  violation.c_str());
      std::fflush(stdout);
    }
  }
  return totals;
}

// Runs the jobs as processes, because the virtual clock belongs to the process.
bool RunAll(const Options& options, Totals& totals) {
  int results[2];
  if (pipe(results) != 0) return false;
  for (uint64_t job = 0; job < options.jobs; ++job) {
    const pid_t child = fork();
    if (child < 0) return false;
    if (child > 0) continue;
    const Totals own = RunSome(options, job);
    const bool sent = write(results[1], &own, sizeof own) == sizeof own;
    _exit(sent ? 0 : 1);
  }
  close(results[1]);
  bool ok = true;
  for (uint64_t job = 0; job < options.jobs; ++job) {
    int status = 0;
    Totals own;
    ok = wait(&status) > 0 && status == 0 && ok;
    ok = read(results[0], &own, sizeof own) == sizeof own && ok;
    if (!ok) break;
    totals.schedules += own.schedules;
    totals.violations += own.violations;
    Add(totals, own.counts);
  }
  close(results[0]);
  return ok;
}

int Main(int count, char** arguments) {
  Options options;
  if (!ReadOptions(count, arguments, options)) {
    std::fprintf(stderr,
                 "usage: prove_simulation [--schedules N] [--seed S] [--jobs J] [--trace 1]\n");
    return 2;
  }
  Totals totals;
  if (!RunAll(options, totals)) {
    std::fprintf(stderr, "a job has failed\n");
    return 1;
  }
  const auto row = [](const char* name, uint64_t number) {
    std::printf("  %-28s %12llu\n", name, static_cast<unsigned long long>(number));
  };
  std::printf("simulation, seeds from %llu on\n", static_cast<unsigned long long>(options.seed));
  row("schedules", totals.schedules);
  row("events", totals.counts.events);
  row("accepted runs", totals.counts.runs);
  row("deaths of workers", totals.counts.worker_deaths);
  row("deaths of the state server", totals.counts.server_deaths);
  row("of these, power cuts", totals.counts.power_cuts);
  row("cut connections", totals.counts.cut_connections);
  row("schedules with violations", totals.violations);
  return totals.violations == 0 && totals.schedules == options.schedules ? 0 : 1;
}

}  // namespace
}  // namespace agent_graph::simulation

int main(int count, char** arguments) {
  return agent_graph::simulation::Main(count, arguments);
}
