#include "system/container.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "system/machine.h"

namespace minuend {

namespace {

// ---- files of numbers, read without allocating: results are freed where there is no memory left -------------------

constexpr size_t kMostPath = 4096;

// A short file of a group. `status` is that of read_file(): 0 or less where there is no text.
struct Text {
  Text(const std::string& folder, const char* name) {
    char path[kMostPath];
    const int length = std::snprintf(path, sizeof(path), "%s/%s", folder.c_str(), name);
    status = length > 0 && size_t(length) < sizeof(path) ? read_file(path, text, sizeof(text) - 1) : 0;
    text[std::max(status, 0)] = 0;
  }
  // The number behind `at`; false where there is none, as in "max" and "-1".
  static bool number(const char* at, int64_t& found) {
    char* end;
    found = std::strtoll(at, &end, 10);
    return end != at && found >= 0;
  }
  bool number(int64_t& found) const { return number(text, found); }
  // The number of the line that begins with `key`.
  bool line(const char* key, int64_t& found) const {
    for (const char* at = text; (at = std::strstr(at, key)) != nullptr; ++at) {
      if (at == text || at[-1] == '\n') return number(at + std::strlen(key), found);
    }
    return false;
  }

  int status;
  char text[8192];
};

// How each version names what is read of memory.
struct MemoryNames {
  const char *limits[2], *used, *droppable;
};
constexpr MemoryNames kMemory[] = {
    {{"memory.limit_in_bytes", nullptr}, "memory.usage_in_bytes", "total_inactive_file "},
    {{"memory.max", "memory.high"}, "memory.current", "inactive_file "},
};

// ---- where the groups lie ----------------------------------------------------------------------------------------

std::string read_all(const std::string& path) {
  std::string text(1 << 14, 0);
  for (;;) {
    const int n = read_file(path.c_str(), text.data(), text.size());
    if (n < int(text.size())) return text.substr(0, size_t(std::max(n, 0)));
    text.resize(text.size() * 2);
  }
}

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const size_t end = std::min(text.find(at), text.size());
    if (end > 0) parts.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

bool has(std::string_view list, std::string_view word) {
  const auto words = split(list, ',');
  return std::find(words.begin(), words.end(), word) != words.end();
}

// A path of mountinfo, where spaces and the like are written as \040.
std::string unescaped(std::string_view path) {
  std::string plain;
  for (size_t i = 0; i < path.size(); ++i) {
    if (path[i] != '\\' || i + 3 >= path.size()) {
      plain += path[i];
      continue;
    }
    plain += char(std::strtol(std::string(path.substr(i + 1, 3)).c_str(), nullptr, 8));
    i += 3;
  }
  return plain;
}

// What a line of mountinfo says: which part of a hierarchy lies where.
//   36 35 0:29 /docker/abc /sys/fs/cgroup/memory rw,relatime master:9 - cgroup cgroup rw,memory
struct Mount {
  explicit Mount(std::string_view line) {
    const auto words = split(line, ' ');
    const size_t dash = size_t(std::find(words.begin(), words.end(), "-") - words.begin());
    if (words.size() < 6 || dash + 1 >= words.size()) return;
    part = unescaped(words[3]);
    point = unescaped(words[4]);
    type = words[dash + 1];
    options = words.back();
  }
  std::string part, point;
  std::string_view type, options;
};

// What is left of `path` below `part`, if it lies there.
bool below(const std::string& path, const std::string& part, std::string& rest) {
  const std::string head = part == "/" ? "" : part;
  if (path.compare(0, head.size(), head) != 0) return false;
  rest = path.substr(head.size());
  return rest.empty() || rest[0] == '/';
}

std::atomic<const Container*> entered{nullptr};

}  // namespace

Container::Container(const std::string& root) {
  const std::string groups = read_all(root + "/proc/self/cgroup"), mounts = read_all(root + "/proc/self/mountinfo");
  for (const std::string_view line : split(groups, '\n')) {  // 0::/path, and of version 1: 4:cpu,cpuacct:/path
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == line.npos || second == line.npos) continue;
    const std::string_view controllers = line.substr(first + 1, second - first - 1);
    const std::string path(line.substr(second + 1));
    for (const auto& [name, to] : {std::pair{"cpu", &cpu_}, std::pair{"memory", &memory_}}) {
      if (controllers.empty()) add(2, name, path, mounts, root, *to);
      if (has(controllers, name)) add(1, name, path, mounts, root, *to);
    }
  }
}

// Adds the group at a path of a hierarchy, and those that it lies in.
void Container::add(int version, const char* controller, const std::string& path, const std::string& mounts,
                    const std::string& root, std::vector<Group>& to) const {
  for (const std::string_view line : split(mounts, '\n')) {
    const Mount mount(line);
    std::string rest;
    if (mount.type != (version == 2 ? "cgroup2" : "cgroup") || (version == 1 && !has(mount.options, controller)) ||
        !below(path, mount.part, rest)) {
      continue;
    }
    for (;; rest.resize(rest.rfind('/'))) {
      if (rest != "/") to.push_back({version, root + mount.point + rest});
      if (rest.empty()) break;
    }
  }
}

int Container::cpus() const noexcept {
  int64_t least = INT_MAX;
  for (const Group& group : cpu_) {
    const Text quota(group.folder, group.version == 2 ? "cpu.max" : "cpu.cfs_quota_us");
    int64_t allowed, period = 0;
    if (quota.status < 0) return 0;
    if (!quota.number(allowed)) continue;
    if (group.version == 2) {
      const char* second = std::strchr(quota.text, ' ');
      if (second != nullptr) Text::number(second, period);
    } else {
      const Text file(group.folder, "cpu.cfs_period_us");
      if (file.status < 0) return 0;
      file.number(period);
    }
    // Part of a CPU is not enough for a thread: what two threads spend while one waits for the other comes out of the
    // quota. With 1.5 CPUs two are a third slower than one (64 MiB of uint8 on an EPYC, 142 calls a second and 208).
    if (period > 0) least = std::min(least, std::max<int64_t>(allowed / period, 1));
  }
  return int(least);
}

bool Container::read(Memory& memory) const noexcept {
  Memory found;
  for (const Group& group : memory_) {
    const MemoryNames& names = kMemory[group.version - 1];
    int64_t limit = INT64_MAX, used = 0, droppable = 0;
    for (const char* name : names.limits) {
      if (name == nullptr) continue;
      const Text text(group.folder, name);
      int64_t n;
      if (text.status < 0) return false;
      if (text.number(n)) limit = std::min(limit, n);
    }
    // Version 1 has no word for "no limit" but a number of almost 2^63.
    if (limit >= INT64_MAX / 2) continue;
    const Text current(group.folder, names.used), stat(group.folder, "memory.stat");
    if (current.status < 0 || stat.status < 0) return false;
    current.number(used);
    stat.line(names.droppable, droppable);
    found.limit = std::min(found.limit, size_t(limit));
    found.left = std::min(found.left, limit - used + std::min(droppable, used));
  }
  memory = found;
  return true;
}

// Never destroyed: results may be freed to the very end.
const Container& container() {
  const Container* c = entered.load();
  if (c == nullptr) {
    auto* fresh = new Container("");
    if (entered.compare_exchange_strong(c, fresh)) return *fresh;
    delete fresh;
  }
  return *c;
}

// What was there before stays: another thread may be asking it.
void enter_container(const std::string& root) { entered.store(new Container(root)); }

}  // namespace minuend
