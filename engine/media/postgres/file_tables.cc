#include "media/postgres/file_tables.h"

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "state/postgres/database/failure.h"
#include "state/postgres/database/value.h"

namespace agent_graph::media::postgres {
namespace {

using state::postgres::Command;
using state::postgres::FailureKind;
using state::postgres::Value;

constexpr int kTriesMax = 3;
constexpr std::chrono::seconds kReconnectMax{5};

// A row that exists already is this file: an earlier attempt has inserted it, and its answer was
// lost. Two files never have the same id, because ids are random.
constexpr char kInsertFile[] =
    "INSERT INTO agent_graph.file (file_id, owner, record, extracted, size) "
    "VALUES ($1, $2, $3, $4, $5) ON CONFLICT (file_id) DO NOTHING";
constexpr char kInsertChunk[] =
    "INSERT INTO agent_graph.file_chunk (file_id, n, body) VALUES ($1, $2, $3) "
    "ON CONFLICT (file_id, n) DO NOTHING";
constexpr char kComplete[] = "UPDATE agent_graph.file SET complete = true WHERE file_id = $1";
constexpr char kFind[] = "SELECT record FROM agent_graph.file WHERE file_id = $1 AND complete";
constexpr char kReadText[] = "SELECT extracted FROM agent_graph.file WHERE file_id = $1";
// Chunks are stored uncompressed, so the server reads only the part.
constexpr char kReadChunk[] =
    "SELECT substring(body FROM $3 FOR $4) FROM agent_graph.file_chunk WHERE file_id = $1 AND n = "
    "$2";
constexpr char kTotal[] = "SELECT coalesce(sum(size), 0)::bigint FROM agent_graph.file";
// Several hosts may delete at the same time: each takes rows that no other has locked. A file has
// many chunks, so one transaction deletes few files.
constexpr uint64_t kRemovedAtOnce = 8;
constexpr char kRemoveAbandoned[] =
    "WITH gone AS (DELETE FROM agent_graph.file WHERE file_id IN ("
    "SELECT file_id FROM agent_graph.file WHERE NOT complete AND created < now() - interval '1 "
    "day' "
    "LIMIT $1 FOR UPDATE SKIP LOCKED) RETURNING file_id), "
    "chunks AS (DELETE FROM agent_graph.file_chunk USING gone "
    "WHERE file_chunk.file_id = gone.file_id) "
    "SELECT count(*) FROM gone";

Status DamagedFile(const char* reason) {
  return Status(StatusCode::kDataLoss, "the file is damaged").WithDetail(reason);
}

Command InsertFile(const FileRecord& record, const std::optional<std::string>& text) {
  return {kInsertFile,
          {Value::Text(record.file_id), Value::Bytes(record.owner), Value::Bytes(ToText(record)),
           text ? Value::Bytes(*text) : Value::NullBytes(), Value::Number(record.size_bytes)}};
}

bool IsPassing(FailureKind kind) {
  return kind == FailureKind::kLost || kind == FailureKind::kNotConnected;
}

state::postgres::ConnectionOptions OptionsOf(std::string url) {
  state::postgres::ConnectionOptions options;
  options.url = std::move(url);
  options.application_name = "agent-graph files";
  return options;
}

}  // namespace

FileTables::FileTables(std::string url, std::optional<uint64_t> total_bytes_max)
    : total_bytes_max_(total_bytes_max), connection_(OptionsOf(std::move(url))) {}

Result<FileTables::RowSets> FileTables::Run(const Commands& commands) {
  const Deadline try_until = DeadlineAfter(kReconnectMax);
  for (int tries_left = kTriesMax;; --tries_left) {
    AG_RETURN_IF_ERROR(connection_.OpenUntil(try_until));
    Result<RowSets> rows = connection_.ExecuteAll(commands);
    if (rows.ok() || tries_left == 1 || !IsPassing(connection_.failure().kind)) return rows;
    if (MonotonicClock::now() >= try_until) return rows;
  }
}

Status FileTables::CheckRoom(uint64_t bytes) {
  if (!total_bytes_max_) return Status::Ok();
  AG_ASSIGN_OR_RETURN(const RowSets rows, Run({{kTotal}}));
  if (rows[0][0].Number(0) + bytes <= *total_bytes_max_) return Status::Ok();
  return Status(StatusCode::kResourceExhausted, "the file storage is full");
}

Status FileTables::Insert(const FileRecord& record, const std::optional<std::string>& text,
                          const ReadPiece& read) {
  Progress progress;
  while (!progress.complete) AG_RETURN_IF_ERROR(InsertNext(record, text, read, progress));
  return Status::Ok();
}

Status FileTables::InsertNext(const FileRecord& record, const std::optional<std::string>& text,
                              const ReadPiece& read, Progress& progress) {
  const bool is_first = progress.bytes == 0;
  Progress next = progress;
  Commands commands;
  if (is_first) commands.push_back(InsertFile(record, text));
  const uint64_t end = std::min<uint64_t>(next.bytes + kTransactionBytes, record.size_bytes);
  while (next.bytes < end) {
    const size_t wanted = std::min<uint64_t>(kChunkBytes, record.size_bytes - next.bytes);
    AG_ASSIGN_OR_RETURN(const std::string piece, read(next.bytes, wanted));
    if (piece.size() != wanted) return DamagedFile("the upload's temporary file was truncated");
    commands.push_back(
        {kInsertChunk,
         {Value::Text(record.file_id), Value::Integer(next.chunks++), Value::Bytes(piece)}});
    next.bytes += wanted;
  }
  next.complete = next.bytes == record.size_bytes;
  if (next.complete) commands.push_back({kComplete, {Value::Text(record.file_id)}});
  MutexLock lock(mutex_);
  if (is_first) AG_RETURN_IF_ERROR(CheckRoom(record.size_bytes));
  AG_ASSIGN_OR_RETURN(const RowSets rows, Run(commands));
  if (next.complete && rows.back().changed() != 1) return DamagedFile("its row was deleted");
  progress = next;
  return Status::Ok();
}

Result<FileRecord> FileTables::Find(const std::string& file_id) {
  MutexLock lock(mutex_);
  AG_ASSIGN_OR_RETURN(const RowSets rows, Run({{kFind, {Value::Text(file_id)}}}));
  if (rows[0].empty()) return Status(StatusCode::kNotFound, "file not found");
  return RecordFromText(rows[0][0].Bytes(0), file_id);
}

Result<std::string> FileTables::ReadChunk(const std::string& file_id, uint64_t number,
                                          uint64_t first, uint64_t length) {
  MutexLock lock(mutex_);
  AG_ASSIGN_OR_RETURN(const RowSets rows,
                      Run({{kReadChunk,
                            {Value::Text(file_id), Value::Integer(static_cast<int32_t>(number)),
                             Value::Integer(static_cast<int32_t>(first + 1)),
                             Value::Integer(static_cast<int32_t>(length))}}}));
  if (rows[0].empty() || rows[0][0].Bytes(0).size() != length) {
    return DamagedFile("a chunk is missing");
  }
  return std::string(rows[0][0].Bytes(0));
}

Result<std::string> FileTables::ReadText(const std::string& file_id) {
  MutexLock lock(mutex_);
  AG_ASSIGN_OR_RETURN(const RowSets rows, Run({{kReadText, {Value::Text(file_id)}}}));
  if (rows[0].empty() || rows[0][0].IsNull(0)) {
    return Status(StatusCode::kNotFound, "file not found");
  }
  return std::string(rows[0][0].Bytes(0));
}

Result<bool> FileTables::RemoveAbandoned() {
  MutexLock lock(mutex_);
  AG_ASSIGN_OR_RETURN(const RowSets rows,
                      Run({{kRemoveAbandoned, {Value::Number(kRemovedAtOnce)}}}));
  return rows[0][0].Number(0) == kRemovedAtOnce;
}

}  // namespace agent_graph::media::postgres
