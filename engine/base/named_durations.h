// Histograms of durations by a name that is known at run time only, such as a model or a tool.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/duration_histogram.h"
#include "base/mutex.h"

namespace agent_graph {

// Thread-safe. The number of names is bounded: durations of further names count for kOther. Readers
// never wait: names are only added, and an added name stays as it is.
class NamedDurations {
 public:
  static constexpr std::string_view kOther = "other";
  static constexpr size_t kNamesMax = 32;      // without kOther
  static constexpr size_t kNameBytesMax = 63;  // the rest of a longer name is cut off

  NamedDurations();

  void Add(std::string_view name, uint64_t micros) { Of(name).Add(micros); }
  // The histogram of a name; valid as long as this object.
  DurationHistogram& Of(std::string_view name);

  // The names so far, by index. Index 0 is kOther.
  size_t size() const { return size_.load(std::memory_order_acquire); }
  std::string_view NameAt(size_t index) const { return entries_[index].name; }
  const DurationHistogram& At(size_t index) const { return entries_[index].durations; }

 private:
  struct Entry {
    std::string name;
    DurationHistogram durations{};
  };

  Entry* Find(std::string_view name) const;
  Entry& FindOrAdd(std::string_view name) AG_REQUIRES(adding_);

  const std::unique_ptr<Entry[]> entries_;
  std::atomic<size_t> size_{1};
  Mutex adding_;
};

}  // namespace agent_graph
