#include "admin/import.h"

#include <fcntl.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>

#include "admin/database.h"
#include "admin/unused_database.h"
#include "base/file_content.h"
#include "base/file_descriptor.h"
#include "media/postgres/file_tables.h"
#include "media/record.h"
#include "media/spool.h"
#include "state/leveldb/database/database.h"
#include "state/postgres/schema/migration.h"
#include "state/rows/database.h"

namespace agent_graph::admin {
namespace {

namespace fs = std::filesystem;
using media::postgres::FileTables;
using state::postgres::Connection;
using state::postgres::RowImport;

FileDescriptor OpenFile(const fs::path& path) {
  return FileDescriptor(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
}

Result<std::string> ReadWhole(const fs::path& path, int64_t bytes_max) {
  const FileDescriptor file = OpenFile(path);
  if (!file) return media::FileError("open");
  return ReadFileContent(file.get(), bytes_max);
}

// Copies a file of a LocalStorage; `record_path` is that of its record.
Status ImportFile(FileTables& tables, const fs::path& record_path) {
  const std::string id = record_path.stem().string();
  AG_ASSIGN_OR_RETURN(const std::string text, ReadWhole(record_path, media::kRecordBytesMax));
  AG_ASSIGN_OR_RETURN(const media::FileRecord record, media::RecordFromText(text, id));
  std::optional<std::string> extracted;
  if (record.has_text) {
    AG_ASSIGN_OR_RETURN(extracted, ReadWhole(fs::path(record_path).replace_extension(".txt"),
                                             media::kExtractedTextBytesMax + 1));
  }
  const FileDescriptor file = OpenFile(fs::path(record_path).replace_extension());
  if (!file) return media::FileError("open");
  return tables.Insert(record, extracted, [&](uint64_t offset, size_t bytes_max) {
    return media::ReadExactly(file.get(), offset, bytes_max);
  });
}

Result<uint64_t> ImportFiles(const std::string& uploads, const std::string& url) {
  FileTables tables(url, std::nullopt);
  uint64_t files = 0;
  std::error_code error;
  for (fs::recursive_directory_iterator entry(uploads, error), end; entry != end;
       entry.increment(error)) {
    if (error) break;
    const fs::path& path = entry->path();
    if (path.extension() != ".json" || !media::IsFileId(path.stem().string())) continue;
    const Status imported = ImportFile(tables, path);
    if (!imported.ok()) {
      return Status(imported.code(), path.string() + ": " + imported.ToString());
    }
    ++files;
  }
  // A service without uploads has no such folder.
  if (!error || error == std::errc::no_such_file_or_directory) return files;
  return Status(StatusCode::kUnavailable, uploads + ": " + error.message());
}

Status ImportRows(const StateAccess& state, RowImport& import) {
  AG_ASSIGN_OR_RETURN(const std::unique_ptr<state::LevelDatabase> database,
                      state::LevelDatabase::OpenReadOnly(state.directory().database_path()));
  const state::DatabaseSnapshot snapshot(*database);
  Status added;
  AG_RETURN_IF_ERROR(snapshot.Scan("", "", [&](std::string_view key, std::string_view value) {
    added = import.Add(key, value);
    return added.ok();
  }));
  return added;
}

}  // namespace

Result<Imported> ImportState(const StateAccess& state, const std::string& uploads,
                             const std::string& url) {
  if (!state.stopped()) return Status(StatusCode::kBusy, "the state is in use: stop nginx first");
  Connection connection(MaintenanceOptions(url));
  AG_RETURN_IF_ERROR(state::postgres::CheckSchema(connection));
  AG_RETURN_IF_ERROR(CheckUnused(connection).status());
  Imported imported;
  std::error_code error;
  // The directory may be given in several ways, such as with a slash at its end.
  const fs::path source = fs::canonical(state.directory().path(), error);
  if (error) return Status(StatusCode::kUnavailable, error.message());
  RowImport import(connection, source.string());
  AG_RETURN_IF_ERROR(import.Begin());
  imported.earlier = import.is_complete();
  AG_RETURN_IF_ERROR(ImportRows(state, import));
  AG_ASSIGN_OR_RETURN(imported.kinds, import.Finish());
  AG_ASSIGN_OR_RETURN(imported.files, ImportFiles(uploads, url));
  return imported;
}

}  // namespace agent_graph::admin
