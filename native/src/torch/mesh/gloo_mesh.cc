// SPDX-License-Identifier: Apache-2.0
#include "torch/mesh/gloo_mesh.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/host_calls.h"
#include "torch/mesh/gloo_workers.h"
#include "torchfeed/error.h"
#include "torchfeed/log_filter.h"

namespace torchfeed::detail {
namespace {

constexpr const char* kFirstDevice = "0/";  // the prefix of Gloo's keys
constexpr const char* kConnectionsKey = "connections/";

using Connection = GroupSockets::Connection;
using Device = std::shared_ptr<gloo::transport::Device>;

/// Returns the address and port as text; empty if it is none of the Internet.
std::string text_of(const sockaddr_storage& address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  uint16_t port = 0;
  if (address.ss_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(address);
    inet_ntop(AF_INET, &v4.sin_addr, text.data(), text.size());
    port = ntohs(v4.sin_port);
  } else if (address.ss_family == AF_INET6) {
    const auto& v6 = reinterpret_cast<const sockaddr_in6&>(address);
    inet_ntop(AF_INET6, &v6.sin6_addr, text.data(), text.size());
    port = ntohs(v6.sin6_port);
  } else {
    return {};
  }
  return std::string(text.data()) + " " + std::to_string(port);
}

/// @param which  `getsockname` or `getpeername`
std::string address_of(int descriptor, decltype(&getsockname) which) {
  sockaddr_storage address{};
  socklen_t length = sizeof(address);
  return which(descriptor, reinterpret_cast<sockaddr*>(&address), &length) == 0 ? text_of(address)
                                                                                : std::string();
}

std::vector<int> open_descriptors() {
  std::vector<int> descriptors;
  DIR* folder = opendir("/proc/self/fd");
  if (folder == nullptr) {
    folder = opendir("/dev/fd");  // macOS
  }
  if (folder != nullptr) {
    while (const dirent* entry = readdir(folder)) {
      descriptors.push_back(std::atoi(entry->d_name));
    }
    closedir(folder);
  }
  return descriptors;
}

Device create_device(const GlooOptions& options) {
  if (!options.host.empty()) {
    return c10d::ProcessGroupGloo::createDeviceForHostname(options.host);
  }
  return options.interface.empty()
             ? c10d::ProcessGroupGloo::createDefaultDevice()
             : c10d::ProcessGroupGloo::createDeviceForInterface(options.interface);
}

/// Returns where a rank listens, as Gloo has written it into the store under the rank's number: the
/// lengths and contents of the host's name and of an address, and more.
std::string listener_of(c10d::Store& store, int rank) {
  const std::string text = store.get_to_str(std::string(kFirstDevice) + std::to_string(rank));
  const auto read = [&](size_t at, void* to, size_t bytes) {
    if (at > text.size() || bytes > text.size() - at) {
      throw Error(ErrorCode::kInternal,
                  "the address of rank " + std::to_string(rank) + " in the store is incomplete");
    }
    std::memcpy(to, text.data() + at, bytes);
  };
  size_t length = 0;
  read(0, &length, sizeof(length));
  const size_t after_host = sizeof(length) + std::min(length, text.size());
  sockaddr_storage address{};
  read(after_host + sizeof(length), &address, sizeof(address));
  return text_of(address);
}

/// Returns the descriptors that an event loop watches; nothing if the descriptor is none of a loop.
std::vector<int> watched_by(int descriptor) {
  std::vector<int> watched;
  std::ifstream info("/proc/self/fdinfo/" + std::to_string(descriptor));
  for (std::string line; std::getline(info, line);) {
    if (line.rfind("tfd:", 0) == 0) {
      watched.push_back(std::atoi(line.c_str() + std::strlen("tfd:")));
    }
  }
  return watched;
}

bool is_listener_at(int descriptor, const std::string& address) {
  int is_listening = 0;
  socklen_t length = sizeof(is_listening);
  return getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &is_listening, &length) == 0 &&
         is_listening != 0 && address_of(descriptor, &getsockname) == address;
}

/// Returns the descriptors of the event loop that watches the listener at an address: one rank's,
/// also if other threads of this process are other ranks. If the system does not tell, all
/// descriptors of this process.
std::vector<int> descriptors_of(const std::string& listener) {
  const auto all = open_descriptors();
  for (const int loop : all) {
    auto watched = watched_by(loop);
    if (std::any_of(watched.begin(), watched.end(),
                    [&](int each) { return is_listener_at(each, listener); })) {
      return watched;
    }
  }
  return all;
}

/// Returns the connections of a rank to the listeners of other ranks, and those accepted at its
/// own.
std::vector<Connection> connections_of(int own, const std::vector<std::string>& listeners) {
  std::vector<Connection> connections;
  for (const int descriptor : descriptors_of(listeners[static_cast<size_t>(own)])) {
    const std::string peer = address_of(descriptor, &getpeername);
    if (peer.empty()) {
      continue;
    }
    const std::string local = address_of(descriptor, &getsockname);
    const auto at = std::find(listeners.begin(), listeners.end(), peer);
    const auto rank = at - listeners.begin();
    if (at != listeners.end() && rank != own) {
      connections.push_back({rank, descriptor, local, peer});
    } else if (local == listeners[static_cast<size_t>(own)]) {
      connections.push_back({-1, descriptor, local, peer});
    }
  }
  return connections;
}

/// Tells the others which connections this rank has made, and learns whose it has accepted.
void name_peers(c10d::Store& store, int own, int world_size, std::vector<Connection>& connections) {
  std::string made;
  for (const auto& connection : connections) {
    if (connection.rank >= 0) {
      made += connection.own_address + '\n';
    }
  }
  store.set(kConnectionsKey + std::to_string(own), made);
  for (int rank = 0; rank < world_size; ++rank) {
    const std::string theirs =
        rank == own ? std::string() : store.get_to_str(kConnectionsKey + std::to_string(rank));
    for (auto& connection : connections) {
      if (connection.rank < 0 && theirs.find(connection.peer_address + '\n') != std::string::npos) {
        connection.rank = rank;
      }
    }
  }
}

/// A descriptor of the socket of a connection, for a moment: the original may be closed meanwhile,
/// and its number used for another file.
class OwnDescriptor {
 public:
  explicit OwnDescriptor(const Connection& connection)
      : descriptor_(fcntl(connection.descriptor, F_DUPFD_CLOEXEC, 0)),
        is_open_(address_of(descriptor_, &getpeername) == connection.peer_address &&
                 address_of(descriptor_, &getsockname) == connection.own_address) {}
  ~OwnDescriptor() {
    if (descriptor_ >= 0) {
      close(descriptor_);
    }
  }
  OwnDescriptor(const OwnDescriptor&) = delete;
  OwnDescriptor& operator=(const OwnDescriptor&) = delete;

  /// Returns whether it is the socket of the connection.
  [[nodiscard]] bool is_open() const { return is_open_; }
  [[nodiscard]] int get() const { return descriptor_; }

 private:
  int descriptor_;
  bool is_open_;
};

/// Returns how long an established connection has been quiet; nothing of one that has ended.
std::optional<std::chrono::milliseconds> established(const Connection& connection) {
  const OwnDescriptor own(connection);
  return own.is_open() ? quiet_time(own.get()) : std::nullopt;
}

}  // namespace

void GroupSockets::shut_down() const {
  for (const auto& connection : connections_) {
    const OwnDescriptor own(connection);
    if (own.is_open()) {
      shutdown(own.get(), SHUT_RDWR);
    }
  }
}

std::vector<int64_t> GroupSockets::lost() const {
  std::vector<int64_t> ranks;
  for (const auto& connection : connections_) {
    if (!established(connection)) {
      ranks.push_back(connection.rank);
    }
  }
  return ranks;
}

bool GroupSockets::has_unread_end() const {
  return std::any_of(connections_.begin(), connections_.end(), [](const Connection& connection) {
    const OwnDescriptor own(connection);
    int unread = 0;
    return own.is_open() && !quiet_time(own.get()) && ioctl(own.get(), FIONREAD, &unread) == 0 &&
           unread > 0;
  });
}

std::chrono::milliseconds GroupSockets::quiet_for() const {
  auto quiet = std::chrono::milliseconds::max();
  for (const auto& connection : connections_) {
    quiet = std::min(quiet, established(connection).value_or(quiet));
  }
  return quiet;
}

GlooMesh connect_gloo(const c10::intrusive_ptr<c10d::Store>& store, int rank, int world_size,
                      const GlooOptions& options) {
  const auto announcements = LogFilter::create();
  auto gloo_options = c10d::ProcessGroupGloo::Options::create(options.timeout);
  gloo_options->devices.push_back(create_device(options));
  auto backend = c10::make_intrusive<GlooWorkers>(store, rank, world_size, std::move(gloo_options));
  std::vector<std::string> listeners;
  for (int each = 0; each < world_size; ++each) {
    listeners.push_back(listener_of(*store, each));
  }
  auto connections = connections_of(rank, listeners);
  if (world_size == 2) {
    for (auto& connection : connections) {
      connection.rank = 1 - rank;
    }
  } else if (!options.has_python_ranks) {
    name_peers(*store, rank, world_size, connections);
  }
  if (!connections.empty()) {
    backend->setTimeout(options.timeout + kBeyondTimeout);
  }
  return {std::move(backend), GroupSockets(std::move(connections)), options.timeout};
}

}  // namespace torchfeed::detail
