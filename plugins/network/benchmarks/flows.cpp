// Plays flows over links in SimGrid (S4U): reads the file that against_simgrid.py writes, prints
// when each flow ends, and on stderr the seconds that the simulation took.
#include <simgrid/s4u.hpp>
#include <algorithm>
#include <chrono>
#include <fstream>
#include <iostream>
#include <vector>
namespace s4u = simgrid::s4u;
int main(int argc, char** argv) {
  s4u::Engine e(&argc, argv);
  std::ifstream in(argv[1]);
  int L, N; in >> L >> N;
  auto* zone = s4u::create_full_zone("z");
  std::vector<s4u::Link*> links(L);
  for (int i = 0; i < L; i++) { double c, l; int shared; in >> c >> l >> shared;
    links[i] = zone->create_link("l" + std::to_string(i), c)->set_latency(l);
    links[i]->set_sharing_policy(shared ? s4u::Link::SharingPolicy::SHARED : s4u::Link::SharingPolicy::FATPIPE);
    links[i]->seal(); }
  int H; in >> H;
  std::vector<s4u::Host*> hosts(H);
  for (int i = 0; i < H; i++) { hosts[i] = zone->create_host("h" + std::to_string(i), 1e9); hosts[i]->seal(); }
  struct F { double start, size; int src, dst; std::vector<int> route; };
  std::vector<F> flows(N);
  std::vector<std::vector<bool>> have(H, std::vector<bool>(H));
  for (auto& f : flows) { int k; in >> f.start >> f.size >> f.src >> f.dst >> k; f.route.resize(k); for (auto& x : f.route) in >> x;
    if (!have[f.src][f.dst]) { have[f.src][f.dst] = true; std::vector<s4u::LinkInRoute> r; for (int x : f.route) r.emplace_back(links[x]);
      zone->add_route(hosts[f.src]->get_netpoint(), hosts[f.dst]->get_netpoint(), nullptr, nullptr, r, false); } }
  zone->seal();
  std::vector<double> ends(N);
  std::vector<int> order(N); for (int i = 0; i < N; i++) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return flows[a].start < flows[b].start; });
  std::vector<s4u::CommPtr> comms(N);
  s4u::Actor::create("a", hosts[0], [&] {
    for (int i : order) {
      auto& f = flows[i];
      s4u::this_actor::sleep_until(f.start);
      auto c = s4u::Comm::sendto_init();
      c->set_payload_size(f.size);
      c->set_source(hosts[f.src]); c->set_destination(hosts[f.dst]);
      comms[i] = c;
    }
    for (auto& c : comms) c->wait();
  });
  auto t = std::chrono::steady_clock::now();
  e.run();
  double secs = std::chrono::duration<double>(std::chrono::steady_clock::now() - t).count();
  std::cerr << secs << "\n";
  std::cout.precision(17);
  for (auto& c : comms) std::cout << c->get_finish_time() << "\n";
}
