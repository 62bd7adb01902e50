#include "cli/load.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <thread>
#include <utility>

#include "base/mutex.h"

namespace agent_graph::cli {
namespace {

double Milliseconds(Duration duration) {
  return std::chrono::duration<double, std::milli>(duration).count();
}

std::string Line(const char* name, std::vector<Duration> values) {
  std::ranges::sort(values);
  std::array<char, 120> line;
  std::snprintf(line.data(), line.size(), "%-12s p50 %.1f ms   p99 %.1f ms   longest %.1f ms\n",
                name, Milliseconds(Percentile(values, 0.5)), Milliseconds(Percentile(values, 0.99)),
                Milliseconds(values.empty() ? Duration(0) : values.back()));
  return line.data();
}

// The report that the clients fill.
class SharedReport {
 public:
  void Add(const Result<Measured>& measured) {
    MutexLock lock(mutex_);
    if (measured.ok()) {
      report_.done.push_back(*measured);
    } else if (report_.failed++ == 0) {
      report_.first_failure = measured.status();
    }
  }
  LoadReport Take() {
    MutexLock lock(mutex_);
    return std::move(report_);
  }

 private:
  Mutex mutex_;
  LoadReport report_ AG_GUARDED_BY(mutex_);
};

}  // namespace

LoadReport RunLoad(const LoadOptions& options, const MakeRequest& make_request) {
  SharedReport shared;
  std::atomic<size_t> started{0};
  const auto client = [&](size_t number) {
    while (started.fetch_add(1) < options.requests) shared.Add(make_request(number));
  };
  const auto begin = MonotonicClock::now();

  std::vector<std::thread> clients;
  clients.reserve(options.concurrency);
  for (size_t i = 0; i < options.concurrency; ++i) clients.emplace_back(client, i);
  for (std::thread& thread : clients) thread.join();
  LoadReport report = shared.Take();
  report.elapsed = MonotonicClock::now() - begin;
  return report;
}

Duration Percentile(const std::vector<Duration>& sorted, double share) {
  if (sorted.empty()) return Duration(0);
  const auto rank = static_cast<size_t>(std::ceil(share * static_cast<double>(sorted.size())));
  return sorted[std::clamp<size_t>(rank, 1, sorted.size()) - 1];
}

std::string ReportText(const LoadReport& report) {
  std::vector<Duration> totals;
  std::vector<Duration> firsts;
  for (const Measured& one : report.done) {
    totals.push_back(one.total);
    firsts.push_back(one.first_text);
  }
  const double seconds = std::chrono::duration<double>(report.elapsed).count();
  const double rate = seconds > 0 ? static_cast<double>(report.done.size()) / seconds : 0;
  std::array<char, 120> line;
  std::snprintf(line.data(), line.size(), "%zu requests in %.2f s: %.1f per second, %zu failed\n",
                report.done.size() + report.failed, seconds, rate, report.failed);
  return line.data() + Line("whole answer", totals) + Line("first text", firsts);
}

}  // namespace agent_graph::cli
