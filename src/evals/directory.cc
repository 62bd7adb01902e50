#include "evals/directory.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <utility>

#include "base/file_descriptor.h"

namespace agent_graph::evals {
namespace {

constexpr std::string_view kSuffix = ".json";
constexpr size_t kEntriesMax = 100'000;  // maximum of folder entries that are read

std::string IdOf(const std::string& name) {
  return name.substr(0, name.size() - kSuffix.size());
}

std::string FileOf(const std::string& id) {
  return id + std::string(kSuffix);
}

int64_t Nanos(const timespec& time) {
  return int64_t{1'000'000'000} * time.tv_sec + time.tv_nsec;
}

}  // namespace

std::vector<ReportDirectory::Entry> ReportDirectory::Entries(int folder) const {
  std::vector<Entry> entries;
  int copy = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (copy < 0) return entries;
  std::unique_ptr<DIR, int (*)(DIR*)> names(fdopendir(copy), closedir);
  if (names == nullptr) {
    close(copy);
    return entries;
  }
  for (size_t seen = 0; seen < kEntriesMax; ++seen) {
    const dirent* entry = readdir(names.get());  // NOLINT: only this thread reads it
    if (entry == nullptr) break;
    std::string name = entry->d_name;
    if (!name.ends_with(kSuffix) || name.size() == kSuffix.size()) continue;
    struct stat info{};
    if (fstatat(folder, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) continue;
    if (!S_ISREG(info.st_mode)) continue;
    entries.push_back({std::move(name), {Nanos(info.st_mtim), info.st_size, info.st_ino, {}}});
  }
  if (entries.size() > kReportsMax) {
    std::ranges::sort(entries, [](const Entry& a, const Entry& b) {
      return a.known.modified_nanos > b.known.modified_nanos;
    });
    entries.resize(kReportsMax);
  }
  return entries;
}

std::optional<Report> ReportDirectory::ReadFile(int folder, const std::string& name) {
  // O_NONBLOCK: a file that was replaced by a pipe since it was listed must not block the thread.
  FileDescriptor file(openat(folder, name.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat info{};
  if (!file || fstat(file.get(), &info) != 0 || !S_ISREG(info.st_mode)) return std::nullopt;
  if (info.st_size <= 0 || static_cast<uint64_t>(info.st_size) > kReportBytesMax) {
    return std::nullopt;
  }
  std::string text(static_cast<size_t>(info.st_size), '\0');
  size_t done = 0;
  while (done < text.size()) {
    // NOLINTNEXTLINE: one request at a time reads reports, and a regular file does not block
    ssize_t got = read(file.get(), text.data() + done, text.size() - done);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return std::nullopt;  // the file was truncated meanwhile
    done += static_cast<size_t>(got);
  }
  Result<Report> report = ParseReport(IdOf(name), text);
  if (!report.ok()) return std::nullopt;
  return std::move(report).value();
}

bool ReportDirectory::IsSame(const Known& a, const Known& b) {
  return a.modified_nanos == b.modified_nanos && a.size == b.size && a.inode == b.inode;
}

uint64_t ReportDirectory::LargestUnread() {
  FileDescriptor folder(open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder) return 0;
  uint64_t largest = 0;
  MutexLock lock(mutex_);
  for (const Entry& entry : Entries(folder.get())) {
    const auto before = known_.find(entry.name);
    if (before != known_.end() && IsSame(before->second, entry.known)) continue;
    const auto bytes = static_cast<uint64_t>(entry.known.size);
    if (bytes <= kReportBytesMax) largest = std::max(largest, bytes);
  }
  return largest;
}

std::vector<Run> ReportDirectory::List() {
  MutexLock lock(mutex_);
  return ListLocked();
}

std::vector<Run> ReportDirectory::ListLocked() {
  std::vector<Run> runs;
  FileDescriptor folder(open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder) {
    known_.clear();
    return runs;
  }
  std::map<std::string, Known> known;
  for (Entry& entry : Entries(folder.get())) {
    auto before = known_.find(entry.name);
    if (before != known_.end() && IsSame(before->second, entry.known)) {
      entry.known.summary = std::move(before->second.summary);
    } else if (std::optional<Report> report = ReadFile(folder.get(), entry.name)) {
      entry.known.summary = std::move(report->summary);
    }
    if (entry.known.summary) runs.push_back({*entry.known.summary, 1});
    known.emplace(std::move(entry.name), std::move(entry.known));
  }
  known_ = std::move(known);

  std::ranges::sort(runs, [](const Run& a, const Run& b) {
    if (a.summary.timestamp != b.summary.timestamp) {
      return a.summary.timestamp < b.summary.timestamp;
    }
    return a.summary.id < b.summary.id;
  });
  std::map<std::string, int64_t> numbers;
  for (Run& run : runs) run.number = ++numbers[run.summary.set_id];
  std::ranges::reverse(runs);
  return runs;
}

std::optional<ReportDirectory::Located> ReportDirectory::Locate(const std::string& id) {
  MutexLock lock(mutex_);
  const std::vector<Run> runs = ListLocked();
  const auto run = std::ranges::find_if(runs, [&](const Run& one) { return one.summary.id == id; });
  if (run == runs.end()) return std::nullopt;
  Located located;
  located.run = *run;
  const auto previous = std::find_if(run + 1, runs.end(), [&](const Run& one) {
    return one.summary.set_id == run->summary.set_id;
  });
  if (previous != runs.end()) located.previous_run = *previous;
  located.bytes = static_cast<uint64_t>(known_.at(FileOf(id)).size);
  if (located.previous_run) {
    located.bytes += static_cast<uint64_t>(known_.at(FileOf(previous->summary.id)).size);
  }
  return located;
}

std::optional<ReportDirectory::Found> ReportDirectory::Read(const Located& located) const {
  FileDescriptor folder(open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder) return std::nullopt;
  Found found;
  found.run = located.run;
  std::optional<Report> report = ReadFile(folder.get(), FileOf(located.run.summary.id));
  if (!report) return std::nullopt;
  found.report = *std::move(report);
  if (!located.previous_run) return found;
  report = ReadFile(folder.get(), FileOf(located.previous_run->summary.id));
  if (!report) return found;
  found.previous_run = located.previous_run;
  found.previous = *std::move(report);
  return found;
}

}  // namespace agent_graph::evals
