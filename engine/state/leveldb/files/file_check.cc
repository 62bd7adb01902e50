#include "state/leveldb/files/file_check.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <set>
#include <string_view>

#include "base/durable.h"
#include "base/errno_text.h"
#include "base/file_descriptor.h"
#include "state/leveldb/files/batch.h"
#include "state/leveldb/files/log_records.h"
#include "state/leveldb/files/manifest.h"
#include "state/rows/keys.h"

namespace agent_graph::state {
namespace {

constexpr char kCurrent[] = "CURRENT";
constexpr char kLost[] = "/lost";

Status Unreadable(const std::string& path) {
  return Status(StatusCode::kUnavailable, "the state database does not answer")
      .WithDetail(path + ": " + ErrnoText(errno));
}

Status Damaged(const std::string& what) {
  return Status(StatusCode::kDataLoss, "stored state is damaged").WithDetail(what);
}

std::string Bytes(uint64_t count) {
  return std::to_string(count) + " bytes";
}

Result<std::string> ReadWholeFile(const std::string& path) {
  const FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat info{};
  if (!file || fstat(file.get(), &info) != 0) return Unreadable(path);
  std::string bytes(static_cast<size_t>(info.st_size), '\0');
  size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t got = read(file.get(), bytes.data() + done, bytes.size() - done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Unreadable(path);
    if (got == 0) break;
    done += static_cast<size_t>(got);
  }
  bytes.resize(done);
  return bytes;
}

Status WriteNewFile(const std::string& path, std::string_view bytes) {
  const FileDescriptor file(
      open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file) return Unreadable(path);
  while (!bytes.empty()) {
    const ssize_t wrote = write(file.get(), bytes.data(), bytes.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) return Unreadable(path);
    bytes.remove_prefix(static_cast<size_t>(wrote));
  }
  return fsync(file.get()) == 0 ? Status::Ok() : Unreadable(path);
}

uint64_t MarkOf(const std::map<uint64_t, uint64_t>& marks, uint64_t number) {
  const auto found = marks.find(number);
  return found == marks.end() ? 0 : found->second;
}

std::set<uint64_t> LogsIn(const std::string& folder) {
  std::set<uint64_t> logs;
  for (const std::string& name : NamesIn(folder)) {
    const FileName file = ParseFileName(name);
    if (file.kind == FileKind::kLog) logs.insert(file.number);
  }
  return logs;
}

// Returns nullopt if there is no database yet.
Result<std::optional<uint64_t>> CurrentManifest(const std::string& folder) {
  const std::string path = folder + "/" + kCurrent;
  if (access(path.c_str(), F_OK) != 0 && errno == ENOENT) {
    for (const std::string& name : NamesIn(folder)) {
      // LevelDB would create an empty database and delete all other files. A MANIFEST alone is
      // allowed: it is left when the creation of a database is interrupted.
      const FileKind kind = ParseFileName(name).kind;
      if (kind == FileKind::kLog || kind == FileKind::kTable) return Damaged(path + " is missing");
    }
    return std::optional<uint64_t>();
  }
  AG_ASSIGN_OR_RETURN(const std::string text, ReadWholeFile(path));
  const FileName file = ParseFileName(text.substr(0, text.find('\n')));
  if (!text.ends_with('\n') || file.kind != FileKind::kManifest) return Damaged(path);
  return std::optional<uint64_t>(file.number);
}

// Log numbers read from the MANIFEST, and the end of its intact records.
struct ManifestReport {
  uint64_t log_number = 0;
  uint64_t previous_log_number = 0;
  uint64_t whole_end = 0;
};

Result<ManifestReport> ReadManifest(const std::string& path, uint64_t mark) {
  if (access(path.c_str(), F_OK) != 0 && errno == ENOENT) return Damaged(path + " is missing");
  AG_ASSIGN_OR_RETURN(const std::string bytes, ReadWholeFile(path));
  ManifestReport report;
  LogReader reader(bytes);
  std::string_view record;
  while (reader.Next(record)) {
    const std::optional<ManifestEdit> edit = ReadManifestEdit(record);
    if (!edit) return Damaged(path + ": a record cannot be read");
    report.log_number = edit->log_number.value_or(report.log_number);
    report.previous_log_number = edit->previous_log_number.value_or(report.previous_log_number);
    report.whole_end = reader.whole_end();
  }
  if (report.whole_end < mark || report.whole_end == 0) {
    return Damaged(path + ": damaged behind " + Bytes(report.whole_end) + " of " + Bytes(mark));
  }
  while (reader.SkipDamage()) {
    while (reader.Next(record)) {
      if (ReadManifestEdit(record)) {
        return Damaged(path + ": damaged behind " + Bytes(report.whole_end));
      }
    }
  }
  return report;
}

// Checks one log that LevelDB will read.
class LogCheck {
 public:
  // `has_marks`: only a database with marks writes its logs ahead with zeros.
  LogCheck(std::string path, uint64_t mark, bool has_marks)
      : path_(std::move(path)), mark_(mark), has_marks_(has_marks) {}

  bool has_records() const { return has_records_; }
  const std::optional<UnfinishedLog>& unfinished() const { return unfinished_; }

  // `later_records`: a later log contains records.
  Status Run(bool later_records) {
    AG_ASSIGN_OR_RETURN(const std::string bytes, ReadWholeFile(path_));
    LogReader reader(bytes);
    AG_RETURN_IF_ERROR(ReadWholeRecords(reader));
    const uint64_t end = reader.whole_end();
    if (end < mark_) return Broken(end, Bytes(mark_) + " were written");
    if (reader.AtEnd()) return Status::Ok();
    if (later_records) return Broken(end, "the next log has records");
    if (has_marks_ && reader.IsUnfinished()) {
      unfinished_ = UnfinishedLog{path_, end};
      return Status::Ok();
    }
    const size_t behind = CountBehind(reader);
    if (behind == 0) return Status::Ok();
    return Broken(end, std::to_string(behind) + " whole records lie behind");
  }

 private:
  Status Broken(uint64_t end, const std::string& proof) const {
    return Damaged(path_ + ": damaged behind " + Bytes(end) + ", and " + proof);
  }

  Status ReadWholeRecords(LogReader& reader) {
    std::string_view record;
    std::optional<uint64_t> next_sequence;
    uint64_t end = 0;
    while (reader.Next(record)) {
      const std::optional<BatchHead> head = ReadBatchHead(record);
      if (!head) return Damaged(path_ + ": a record cannot be read");
      if (next_sequence && head->sequence != *next_sequence) {
        return Broken(end, "records are missing there");
      }
      next_sequence = head->sequence + head->count;
      end = reader.whole_end();
      has_records_ = true;
    }
    return Status::Ok();
  }

  static size_t CountBehind(LogReader& reader) {
    size_t records = 0;
    std::string_view record;
    while (reader.SkipDamage()) {
      while (reader.Next(record)) records += IsWholeBatch(record) ? 1 : 0;
    }
    return records;
  }

  const std::string path_;
  const uint64_t mark_;
  const bool has_marks_;
  bool has_records_ = false;
  std::optional<UnfinishedLog> unfinished_;
};

Result<std::vector<UnfinishedLog>> CheckLogs(const std::string& folder, const Marks& marks,
                                             const ManifestReport& manifest) {
  const auto is_needed = [&](uint64_t log) {
    return log >= manifest.log_number || log == manifest.previous_log_number;
  };
  const std::set<uint64_t> logs = LogsIn(folder);
  for (const auto& [log, bytes] : marks.logs) {
    if (is_needed(log) && bytes > 0 && !logs.contains(log)) {
      return Damaged(folder + "/" + LogName(log) + " is missing, " + Bytes(bytes) +
                     " of it were written");
    }
  }
  std::vector<UnfinishedLog> unfinished;
  bool later_records = false;
  for (auto log = logs.rbegin(); log != logs.rend(); ++log) {
    if (!is_needed(*log)) continue;
    LogCheck check(folder + "/" + LogName(*log), MarkOf(marks.logs, *log),
                   !marks.manifests.empty());
    AG_RETURN_IF_ERROR(check.Run(later_records));
    later_records = later_records || check.has_records();
    if (check.unfinished()) unfinished.push_back(*check.unfinished());
  }
  return unfinished;
}

// Returns a new log with all readable batches; nullopt if the log is intact. Zeros may follow an
// intact log.
std::optional<std::string> Salvaged(std::string_view bytes) {
  std::string log;
  LogReader reader(bytes);
  uint64_t next_sequence = 0;
  std::string_view record;
  do {
    while (reader.Next(record)) {
      const std::optional<BatchHead> head = ReadBatchHead(record);
      if (!head || head->sequence < next_sequence || !IsWholeBatch(record)) continue;
      next_sequence = head->sequence + head->count;
      AppendLogRecord(record, log);
    }
  } while (reader.SkipDamage());
  if (bytes.starts_with(log) && IsZero(bytes.substr(log.size()))) return std::nullopt;
  return log;
}

Status ReplaceLog(const std::string& folder, const std::string& name, std::string_view bytes) {
  const std::string path = folder + "/" + name;
  const std::string draft = path + ".salvaged";
  unlink(draft.c_str());
  AG_RETURN_IF_ERROR(WriteNewFile(draft, bytes));
  (void)mkdir((folder + kLost).c_str(), 0700);
  if (rename(path.c_str(), (folder + kLost + "/" + name).c_str()) != 0 ||
      rename(draft.c_str(), path.c_str()) != 0) {
    return Unreadable(path);
  }
  return SyncPath(folder);
}

// Copies the bytes that will be cut off to lost/, where an operator can look at them. A failure,
// such as a full disk, is ignored: they contain no acknowledged data.
void KeepRest(const UnfinishedLog& log) {
  const Result<std::string> bytes = ReadWholeFile(log.path);
  if (!bytes.ok() || bytes->size() < log.whole_bytes) return;
  std::string_view rest = std::string_view(*bytes).substr(log.whole_bytes);
  rest = rest.substr(0, rest.find_last_not_of('\0') + 1);
  const size_t name = log.path.rfind('/');
  const std::string folder = log.path.substr(0, name) + kLost;
  (void)mkdir(folder.c_str(), 0700);
  const std::string copy = folder + log.path.substr(name) + ".cut";
  (void)unlink(copy.c_str());
  (void)WriteNewFile(copy, rest);
}

}  // namespace

Result<std::vector<UnfinishedLog>> CheckFiles(const std::string& folder, const Marks& marks) {
  AG_ASSIGN_OR_RETURN(const std::optional<uint64_t> number, CurrentManifest(folder));
  if (!number) return std::vector<UnfinishedLog>();
  const std::string path = folder + "/" + ManifestName(*number);
  AG_ASSIGN_OR_RETURN(const ManifestReport manifest,
                      ReadManifest(path, MarkOf(marks.manifests, *number)));
  return CheckLogs(folder, marks, manifest);
}

Status CutUnfinished(const std::vector<UnfinishedLog>& logs) {
  for (const UnfinishedLog& log : logs) {
    KeepRest(log);
    const FileDescriptor file(open(log.path.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW));
    if (!file || ftruncate(file.get(), static_cast<off_t>(log.whole_bytes)) != 0 ||
        fsync(file.get()) != 0) {
      return Unreadable(log.path);
    }
  }
  return Status::Ok();
}

Status CheckManifest(const std::string& folder, const Marks& marks) {
  AG_ASSIGN_OR_RETURN(const std::optional<uint64_t> number, CurrentManifest(folder));
  if (!number) return Damaged(folder + "/" + kCurrent + " is missing");
  const std::string path = folder + "/" + ManifestName(*number);
  return ReadManifest(path, MarkOf(marks.manifests, *number)).status();
}

Status SalvageLogs(const std::string& folder) {
  for (const uint64_t log : LogsIn(folder)) {
    const std::string name = LogName(log);
    AG_ASSIGN_OR_RETURN(const std::string bytes, ReadWholeFile((folder + "/").append(name)));
    const std::optional<std::string> salvaged = Salvaged(bytes);
    if (salvaged) AG_RETURN_IF_ERROR(ReplaceLog(folder, name, *salvaged));
  }
  return Status::Ok();
}

}  // namespace agent_graph::state
