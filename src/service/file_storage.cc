#include "service/file_storage.h"

#include <dlfcn.h>
#include <unistd.h>

#include <filesystem>
#include <system_error>

#include "media/local_storage.h"
#include "media/postgres/storage.h"
#include "media/s3/storage.h"

namespace agent_graph::service {
using Storage = settings::MediaSettings::Storage;

std::unique_ptr<media::Storage> MakeFileStorage(const settings::Settings& settings,
                                                const std::string& state_directory, int64_t master,
                                                runtime::Runtime& runtime) {
  media::LocalStorageOptions options;
  options.total_bytes_max = settings.media.total_bytes_max;
  if (settings.media.storage == Storage::kMemory) {
    options.directory = media::MemoryDirectory(state_directory, geteuid());
    options.must_be_ours = true;
    options.instance = media::InstanceOf(master);
  } else if (settings.media.path.starts_with('/')) {
    options.directory = settings.media.path;
  } else {
    options.directory = state_directory + "/" + settings.media.path;
  }
  if (settings.media.storage == Storage::kMemory || settings.media.storage == Storage::kLocal) {
    return std::make_unique<media::LocalStorage>(std::move(options), runtime);
  }
  // An upload is first written to a local folder: S3 needs its length and hash before the bytes,
  // and a slow client would hold a transaction of the database open.
  options.directory = state_directory + "/uploads";
  options.total_bytes_max.reset();
  auto spool = std::make_unique<media::LocalStorage>(std::move(options), runtime);
  if (settings.media.storage == Storage::kDatabase) {
    return std::make_unique<media::postgres::PostgresStorage>(
        media::postgres::StorageOptions{.url = settings.checkpointer.url,
                                        .total_bytes_max = settings.media.total_bytes_max},
        std::move(spool), runtime);
  }
  return std::make_unique<media::s3::S3Storage>(settings.media.cloud, std::move(spool),
                                                net::HttpClient(settings.environment), runtime);
}

void ForgetFiles(const settings::Settings& settings, const std::string& state_directory, uid_t user,
                 int64_t master) {
  if (settings.media.storage != Storage::kMemory) return;
  media::RemoveInstance(media::MemoryDirectory(state_directory, user), user,
                        media::InstanceOf(master));
}

std::string ExtractorProgram() {
  Dl_info module{};
  if (dladdr(reinterpret_cast<const void*>(&MakeFileStorage), &module) == 0) return {};
  std::error_code error;
  // The path of the module may contain symbolic links.
  std::filesystem::path path = std::filesystem::canonical(module.dli_fname, error);
  return error ? std::string() : (path.parent_path() / "agent-extract").string();
}

Status CheckFileStorage(const settings::Settings& settings) {
  Status usable;
  if (settings.media.storage == Storage::kMemory) {
    usable = media::CheckDirectory("/dev/shm");
  } else if (settings.media.storage == Storage::kLocal && settings.media.path.starts_with('/')) {
    usable = media::CheckDirectory(settings.media.path);
  }
  if (usable.ok()) return usable;
  return Status(StatusCode::kInvalidArgument, "media: " + usable.message());
}

}  // namespace agent_graph::service
