// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed.launch;

import io.torchfeed.distributed.membership.Coordinator;
import io.torchfeed.distributed.membership.CoordinatorEvent;
import io.torchfeed.distributed.membership.Membership;
import io.torchfeed.distributed.membership.MembershipEndedException;
import io.torchfeed.distributed.membership.MembershipEndedException.Reason;
import io.torchfeed.distributed.membership.MembershipOptions;
import io.torchfeed.internal.Failures;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The job of a launch, as its launcher sees it: by the coordinator in this process, or by a
 * membership that never takes part in the training.
 */
final class JobView implements AutoCloseable {
  /**
   * The end of a job whose coordinator is elsewhere, or of a coordinator here that has failed.
   *
   * @param failure empty if the training is complete
   */
  record End(String failure) {}

  private final ElasticSettings elastic;
  private final String name;
  private final @Nullable Coordinator coordinator;
  private final Object monitor = new Object();
  private @Nullable Membership membership; // guarded by the monitor
  private boolean isClosed; // guarded by the monitor

  private JobView(
      ElasticSettings elastic,
      String name,
      @Nullable Coordinator coordinator,
      @Nullable Membership membership) {
    this.elastic = elastic;
    this.name = name;
    this.coordinator = coordinator;
    this.membership = membership;
  }

  /**
   * Opens the view, and starts the coordinator if it is to be here.
   *
   * @param name of this launcher
   * @param inbox takes events and the {@link End}
   * @throws LaunchException if the coordinator cannot be reached or is one of another job, or the
   *     host to listen at is unknown
   */
  static JobView open(ElasticSettings elastic, String name, Consumer<Object> inbox)
      throws InterruptedException {
    ElasticSettings.Place place = elastic.place();
    try {
      if (!place.isHere()) {
        Membership first = join(elastic, name);
        first.watch(inbox::accept);
        JobView view = new JobView(elastic, name, null, first);
        watch(() -> inbox.accept(view.end(first, inbox::accept)));
        return view;
      }
      Coordinator coordinator =
          Coordinator.listen(
              place.host(),
              place.port(),
              elastic.ranks().withJob(place.job()).withEvents(inbox::accept));
      watch(() -> await(coordinator, inbox));
      return new JobView(elastic, name, coordinator, null);
    } catch (MembershipEndedException | IllegalArgumentException e) {
      throw LaunchException.notBegun(Failures.reason(e), e);
    }
  }

  private static Membership join(ElasticSettings elastic, String name) throws InterruptedException {
    ElasticSettings.Place place = elastic.place();
    return Membership.join(
        place.host(),
        place.port(),
        MembershipOptions.defaults()
            .withJob(place.job())
            .withName(name)
            .withSecret(elastic.secret()));
  }

  private static void watch(Runnable body) {
    Thread thread = new Thread(body, "torchfeed-launcher-job");
    thread.setDaemon(true);
    thread.start();
  }

  /** Reports the failure of a coordinator; the end of its job is one of its events. */
  private static void await(Coordinator coordinator, Consumer<Object> inbox) {
    try {
      coordinator.await();
    } catch (MembershipEndedException e) {
      return; // an event has said that the job has failed, or this launcher has closed it
    } catch (IllegalStateException e) {
      inbox.accept(new End(Failures.reason(e)));
    } catch (InterruptedException e) {
      inbox.accept(new End("the wait for the coordinator was interrupted"));
    }
  }

  /** Waits for the end of the job, also if this launcher was silent and was expelled for it. */
  private End end(Membership first, Consumer<CoordinatorEvent> events) {
    Membership current = first;
    try {
      while (true) {
        try {
          current.finish(); // it is in no generation, so this only waits
          return new End("");
        } catch (MembershipEndedException e) {
          if (e.reason() != Reason.EXPELLED) {
            return new End(String.valueOf(e.getMessage()));
          }
        }
        current.close();
        current = again();
        current.watch(events);
      }
    } catch (MembershipEndedException e) {
      return new End(String.valueOf(e.getMessage()));
    } catch (InterruptedException e) {
      return new End("interrupted");
    }
  }

  private Membership again() throws InterruptedException {
    Membership joined = join(elastic, name);
    synchronized (monitor) {
      membership = joined;
      if (isClosed) {
        joined.close();
      }
    }
    return joined;
  }

  /** Returns the port at which the coordinator listens. */
  int port() {
    return coordinator == null ? elastic.place().port() : coordinator.port();
  }

  @Override
  public void close() {
    if (coordinator != null) {
      coordinator.close();
    }
    synchronized (monitor) {
      isClosed = true;
      if (membership != null) {
        membership.close();
      }
    }
  }
}
