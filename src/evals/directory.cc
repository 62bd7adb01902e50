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

std::optional<Report> ReportDirectory::Read(int folder, const std::string& name) const {
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

std::vector<Run> ReportDirectory::List() {
  std::vector<Run> runs;
  MutexLock lock(mutex_);
  FileDescriptor folder(open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder) {
    known_.clear();
    return runs;
  }
  std::map<std::string, Known> known;
  for (Entry& entry : Entries(folder.get())) {
    auto before = known_.find(entry.name);
    bool same =
        before != known_.end() && before->second.modified_nanos == entry.known.modified_nanos &&
        before->second.size == entry.known.size && before->second.inode == entry.known.inode;
    if (same) {
      entry.known.summary = std::move(before->second.summary);
    } else if (std::optional<Report> report = Read(folder.get(), entry.name)) {
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

std::optional<ReportDirectory::Found> ReportDirectory::Find(const std::string& id) {
  const std::vector<Run> runs = List();
  auto run = std::ranges::find_if(runs, [&](const Run& one) { return one.summary.id == id; });
  if (run == runs.end()) return std::nullopt;
  FileDescriptor folder(open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder) return std::nullopt;
  Found found;
  found.run = *run;
  std::optional<Report> report = Read(folder.get(), id + std::string(kSuffix));
  if (!report) return std::nullopt;
  found.report = *std::move(report);
  auto previous = std::find_if(run + 1, runs.end(), [&](const Run& one) {
    return one.summary.set_id == run->summary.set_id;
  });
  if (previous == runs.end()) return found;
  report = Read(folder.get(), previous->summary.id + std::string(kSuffix));
  if (!report) return found;
  found.previous_run = *previous;
  found.previous = *std::move(report);
  return found;
}

}  // namespace agent_graph::evals
