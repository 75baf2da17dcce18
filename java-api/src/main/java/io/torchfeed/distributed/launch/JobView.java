// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed.launch;

import io.torchfeed.distributed.membership.Coordinator;
import io.torchfeed.distributed.membership.Membership;
import io.torchfeed.distributed.membership.MembershipEndedException;
import java.util.function.Consumer;

/**
 * The job of a launch, as its launcher sees it: by the coordinator in this process, or by a
 * membership that never takes part in the training.
 */
final class JobView implements AutoCloseable {
  /**
   * The end of a job whose coordinator is elsewhere.
   *
   * @param failure empty if the training is complete
   */
  record End(String failure) {}

  private final AutoCloseable seen;
  private final int port;

  private JobView(AutoCloseable seen, int port) {
    this.seen = seen;
    this.port = port;
  }

  /**
   * Opens the view, and starts the coordinator if it is to be here.
   *
   * @param name of this launcher
   * @param inbox takes events and the {@link End}
   */
  static JobView open(ElasticSettings elastic, String name, Consumer<Object> inbox)
      throws InterruptedException {
    ElasticSettings.Place place = elastic.place();
    if (place.isHere()) {
      Coordinator coordinator =
          Coordinator.listen(
              place.host(), place.port(), place.job(), elastic.ranks(), inbox::accept);
      return new JobView(coordinator, coordinator.port());
    }
    Membership membership = Membership.join(place.host(), place.port(), place.job(), name);
    Thread thread = new Thread(() -> inbox.accept(end(membership)), "torchfeed-launcher-job");
    thread.setDaemon(true);
    thread.start();
    return new JobView(membership, place.port());
  }

  private static End end(Membership membership) {
    try {
      membership.finish(); // it is in no generation, so this only waits
      return new End("");
    } catch (MembershipEndedException e) {
      return new End(String.valueOf(e.getMessage()));
    } catch (InterruptedException e) {
      return new End("interrupted");
    }
  }

  /** Returns the port at which the coordinator listens. */
  int port() {
    return port;
  }

  @Override
  public void close() {
    try {
      seen.close();
    } catch (Exception e) {
      throw new IllegalStateException("the coordinator could not be closed", e);
    }
  }
}
