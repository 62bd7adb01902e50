// S3Storage: files in a bucket of an S3-compatible object storage.
//
// A file is the object <prefix>/<id>, its record is <id>.json and its text <id>.txt.
#pragma once

#include <memory>
#include <string>

#include "base/mutex.h"
#include "base/recent_map.h"
#include "media/s3/signature.h"
#include "media/s3/storage_options.h"
#include "media/storage.h"
#include "net/http_client.h"

namespace agent_graph::runtime {
class Runtime;
}

namespace agent_graph::media::s3 {

// Thread-safe; calls suspend the calling fiber. Temporary failures are retried.
class S3Storage : public Storage {
 public:
  // `spool` only holds uploads in progress; they are then sent to the bucket.
  S3Storage(StorageOptions options, std::unique_ptr<Storage> spool, net::HttpClient client,
            runtime::Runtime& runtime);
  ~S3Storage() override;

  Result<Spool> Receive() override { return spool_->Receive(); }
  Status Keep(Spool& spool, FileRecord& record, const std::optional<std::string>& text) override;
  Result<FileRecord> Find(const Reader& reader, const std::string& file_id) override;
  Result<Content> Open(const FileRecord& record, uint64_t first, uint64_t length) override;
  Result<std::string> ReadText(const FileRecord& record) override;
  std::optional<DirectUrl> UrlOf(const FileRecord& record) override;

 private:
  static constexpr size_t kKnownMax = 4096;
  struct Known {
    FileRecord record;
    std::optional<DirectUrl> url;
  };

  Request MakeRequest(std::string method, const std::string& name) const;
  // `upload`: read the body from this spool instead of `http`.
  Result<std::unique_ptr<net::HttpCall>> Send(const Request& request, const net::HttpRequest& http,
                                              const Spool* upload = nullptr) const;
  Status Upload(net::HttpCall& call, const Spool& spool) const;
  Status Put(const std::string& name, net::HttpRequest http, std::string hash,
             const std::string& content_type, const Spool* upload = nullptr) const;
  Result<std::string> Get(const std::string& name, size_t bytes_max) const;
  std::optional<FileRecord> Recall(const std::string& file_id);
  void Remember(const FileRecord& record);

  const StorageOptions options_;
  const std::unique_ptr<Storage> spool_;
  const net::HttpClient client_;
  runtime::Runtime& runtime_;
  const runtime::Cancellation never_;
  std::string base_url_;   // scheme and host
  std::string host_;       // the Host that is signed
  std::string base_path_;  // path of the prefix, with its final slash

  // Records never change, so each is read once while it is remembered.
  Mutex mutex_;
  RecentMap<std::string, Known> known_ AG_GUARDED_BY(mutex_){kKnownMax};
};

}  // namespace agent_graph::media::s3
