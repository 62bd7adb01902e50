// Sends one reply through nginx's filters: the head, then pieces of the body as they come, then the
// end. Nothing of it is allocated from the request's pool, so a stream may last for hours.
//
// nginx walks everything it holds of a reply at each call of its filters. A stream whose client
// does not read therefore keeps its lines here, joined into blocks, and hands over the next few
// blocks only when nginx has sent the ones before.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "bridge/outbox.h"
#include "bridge/request.h"
#include "ngx.h"

namespace agent_graph::nginx {

// The loop's thread only. Must live until the request's pool dies: nginx may send the last pieces
// after the request was finalized.
class ReplyWriter {
 public:
  explicit ReplyWriter(ngx_http_request_t* request) : request_(request) {}
  ~ReplyWriter();
  ReplyWriter(const ReplyWriter&) = delete;
  ReplyWriter& operator=(const ReplyWriter&) = delete;

  // Collected here, sent by the next Flush.
  void SetHead(bridge::ReplyHead head);
  void Append(std::string bytes);
  // Bytes that outlive the request and are not counted.
  void AppendLasting(std::string_view bytes);
  void AppendFile(bridge::SendFile part);
  // The body is complete.
  void Finish() { finished_ = sealed_ = true; }
  // No more bytes come, though the head announced more.
  void Seal() { sealed_ = true; }

  // Hands nginx what it can send now, or everything after Finish or Seal, because nginx alone goes
  // on with the request then. NGX_OK; NGX_AGAIN: some of it waits for the client; else a code to
  // finalize the request with.
  ngx_int_t Flush();

  // Bytes of the body that have left nginx since the last call.
  uint64_t TakeReleased();
  // True if nginx has sent something, or tried to, since the last call.
  bool TakeProgress() { return std::exchange(progress_, false); }
  // For a client that is gone: the size of what has not left nginx and never will.
  uint64_t DiscardUnsent();

  // Of the body, on their way through nginx or to it.
  uint64_t unsent_bytes() const;

  bool has_head() const { return head_.has_value(); }
  bool head_sent() const { return head_sent_; }
  // A reply of known length is all here and only its end is missing.
  bool complete() const { return length_ >= 0 && appended_ >= length_; }
  // The head announces more than there is; no fault where the request or status has no body.
  bool lacks_bytes() const { return appended_ < length_; }

 private:
  struct FilePart;
  // A buffer, its chain link and the bytes it points to.
  struct Piece {
    ngx_buf_t buffer;
    ngx_chain_t link;
    Piece* next = nullptr;
    uint64_t counted = 0;   // bytes that count for the client's credit and have not left nginx
    std::string bytes;      // or
    char* block = nullptr;  // of the process's pool, or
    std::unique_ptr<FilePart> file;

    Piece();
    ~Piece();
    void PointTo(std::string_view data);
    size_t room() const;  // of its block
    uint64_t unsent() const { return static_cast<uint64_t>(ngx_buf_size(&buffer)); }
  };
  // First in, first out.
  struct PieceList {
    Piece* first = nullptr;
    Piece* last = nullptr;
    void Push(Piece* piece);
    Piece* Pop();
    void Clear();
  };

  ngx_int_t SendHead();
  ngx_int_t SetField(const std::string& name, const std::string& value);
  void Join(std::string_view bytes);
  ngx_int_t SendBody(bool announce_head);
  bool NginxWaits() const;
  ngx_chain_t* NextChain();
  void Recycle();

  ngx_http_request_t* const request_;
  std::optional<bridge::ReplyHead> head_;  // kept: nginx's header list refers to its strings
  bool head_sent_ = false;
  bool finished_ = false;
  bool sealed_ = false;
  bool last_sent_ = false;
  bool progress_ = false;
  PieceList pending_;  // not given to nginx yet
  PieceList busy_;     // with nginx
  uint64_t released_ = 0;
  int64_t length_ = -1;  // as the head announces it
  int64_t appended_ = 0;
};

}  // namespace agent_graph::nginx
