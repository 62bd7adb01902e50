// Sends one reply through nginx's filters: the head, then pieces of the body as they come, then the
// end. Nothing is allocated from the request's pool, so that a stream may last for hours.
//
// nginx walks all buffers that it holds of a reply at each call of its filters. If a client does
// not read, the writer therefore keeps the lines of a stream, joined into blocks, and passes on the
// next few blocks only when nginx has sent the previous ones.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "bridge/outbox.h"
#include "bridge/request.h"
#include "ngx_module/ngx.h"

namespace agent_graph::nginx {

// Used by the event loop's thread only. Must live until the request's pool is destroyed: nginx may
// send the last pieces after the request was finalized.
class ReplyWriter {
 public:
  explicit ReplyWriter(ngx_http_request_t* request) : request_(request) {}
  ~ReplyWriter();
  ReplyWriter(const ReplyWriter&) = delete;
  ReplyWriter& operator=(const ReplyWriter&) = delete;

  // Collects the head or bytes; the next Flush sends them.
  void SetHead(bridge::ReplyHead head);
  void Append(std::string bytes);
  // Appends bytes that outlive the request. They are not counted for credit.
  void AppendLasting(std::string_view bytes);
  // Appends a part of a file; takes over its descriptor.
  void AppendFile(bridge::SendFile part);
  // The body is complete.
  void Finish();
  // No more bytes come, though the head announced more.
  void Seal() { sealed_ = true; }

  // Passes to nginx what it can send now. After Finish or Seal, passes everything, because nginx
  // then continues the request alone. NGX_OK: all was sent; NGX_AGAIN: a part waits for the client;
  // other: finalize the request with this code.
  ngx_int_t Flush();

  // Bytes of the body that nginx has sent since the last call.
  uint64_t TakeReleased();
  // True if nginx has sent something, or tried to, since the last call.
  bool TakeProgress() { return std::exchange(progress_, false); }
  // For a client that has disconnected: returns the number of bytes that were not sent, and stops
  // counting them.
  uint64_t DiscardUnsent();

  // Bytes of the body that are pending or held by nginx.
  uint64_t unsent_bytes() const;

  bool has_head() const { return head_.has_value(); }
  bool head_sent() const { return head_sent_; }
  // True if a reply of known length has all its bytes and only its end is missing.
  bool complete() const { return length_ >= 0 && appended_ >= length_; }
  // True if the head announces more bytes than there are. Not an error if the request or status has
  // no body.
  bool lacks_bytes() const { return appended_ < length_; }

 private:
  struct FilePart;
  // A buffer, its chain link and the bytes it points to.
  struct Piece {
    ngx_buf_t buffer;
    ngx_chain_t link;
    Piece* next = nullptr;
    uint64_t counted = 0;   // unsent bytes that count for the client's credit
    std::string bytes;      // the data: either here,
    char* block = nullptr;  // or in this block of the process's pool, or in `file`
    std::unique_ptr<FilePart> file;

    Piece();
    ~Piece();
    void PointTo(std::string_view data);
    size_t room() const;  // bytes left in the block
    uint64_t unsent() const { return static_cast<uint64_t>(ngx_buf_size(&buffer)); }
  };
  // FIFO list.
  struct PieceList {
    Piece* first = nullptr;
    Piece* last = nullptr;
    void Push(Piece* piece);
    Piece* Pop();
    void Clear();
  };

  void CheckOpen() const;  // a body may be appended to
  ngx_int_t SendHead();
  void ReserveTexts();
  std::string_view LastingText(std::string_view text);
  ngx_int_t SetField(std::string_view name, std::string_view value);
  void Join(std::string_view bytes);
  ngx_int_t SendBody(bool announce_head);
  bool NginxWaits() const;
  ngx_chain_t* NextChain();
  void Recycle();

  ngx_http_request_t* const request_;
  std::optional<bridge::ReplyHead> head_;  // kept: nginx's header list refers to its strings
  std::string texts_;                      // of a stream: the strings of its headers instead
  bool head_sent_ = false;
  bool finished_ = false;
  bool sealed_ = false;
  bool last_sent_ = false;
  bool progress_ = false;
  PieceList pending_;  // not yet passed to nginx
  PieceList busy_;     // passed to nginx
  uint64_t released_ = 0;
  int64_t length_ = -1;  // Content-Length, -1: unknown
  int64_t appended_ = 0;
};

}  // namespace agent_graph::nginx
