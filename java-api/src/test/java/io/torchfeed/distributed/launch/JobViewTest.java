// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed.launch;

import static org.assertj.core.api.Assertions.assertThat;

import io.torchfeed.distributed.launch.ElasticSettings.Place;
import io.torchfeed.distributed.membership.Coordinator;
import io.torchfeed.distributed.membership.CoordinatorEvent;
import io.torchfeed.distributed.membership.CoordinatorEvent.Kind;
import io.torchfeed.distributed.membership.CoordinatorOptions;
import io.torchfeed.distributed.membership.JobSecret;
import io.torchfeed.distributed.membership.Membership;
import io.torchfeed.distributed.membership.MembershipOptions;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.time.Duration;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Tests of how a launcher learns the end of a job. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class JobViewTest {
  private static final JobSecret SECRET = JobSecret.random();
  private static final MembershipOptions OF_JOB =
      MembershipOptions.defaults().withJob("job").withSecret(SECRET);

  private final BlockingQueue<CoordinatorEvent> events = new LinkedBlockingQueue<>();
  private final BlockingQueue<Object> inbox = new LinkedBlockingQueue<>();

  private static ElasticSettings at(Place place) {
    return new ElasticSettings(
        CoordinatorOptions.of(1, 1).withSecret(SECRET),
        0,
        0,
        Duration.ofMinutes(1),
        event -> {},
        place);
  }

  private void await(Kind kind) throws InterruptedException {
    while (events.take().kind() != kind) {}
  }

  @Test
  void theDeathOfTheCoordinatorHereIsAnEnd() throws Exception {
    try (JobView view =
        JobView.open(
            at(Place.of(null, "job", 1, 1)),
            "launcher",
            each -> {
              if (each instanceof CoordinatorEvent) {
                throw new IllegalArgumentException("a full inbox");
              }
              inbox.add(each);
            })) {
      Thread joining = new Thread(() -> joinAndClose(view.port()));
      joining.start();
      assertThat(inbox.take())
          .isEqualTo(
              new JobView.End(
                  "the coordinator failed: java.lang.IllegalArgumentException: a full inbox"));
      joining.join();
    }
  }

  private static void joinAndClose(int port) {
    try (Membership member = Membership.join("127.0.0.1", port, OF_JOB)) {
      member.leave();
    } catch (RuntimeException | InterruptedException e) {
      return; // the coordinator has failed before it could say anything
    }
  }

  @Test
  void aLauncherThatWasSilentAndExpelledJoinsAgain() throws Exception {
    CoordinatorOptions options =
        CoordinatorOptions.of(1, 1)
            .withSilence(Duration.ofSeconds(2))
            .withReplacement(HOUR)
            .withSecret(SECRET);
    try (Coordinator coordinator =
            Coordinator.listen("127.0.0.1", 0, options.withJob("job").withEvents(events::add));
        Relay relay = new Relay(coordinator.port());
        JobView view =
            JobView.open(
                at(new Place(Place.Kind.ELSEWHERE, "127.0.0.1", relay.port(), "job")),
                "launcher",
                inbox::add)) {
      await(Kind.CONNECTED);
      relay.isSilent = true;
      await(Kind.LOST);
      relay.isSilent = false;
      await(Kind.CONNECTED);
      assertThat(inbox).noneMatch(JobView.End.class::isInstance);
      assertThat(view.port()).isEqualTo(relay.port());
      try (Membership rank = Membership.join("127.0.0.1", coordinator.port(), OF_JOB)) {
        rank.next("");
        rank.commit(1);
        rank.finish();
      }
      Object last = inbox.take();
      while (!(last instanceof JobView.End)) {
        assertThat(last).isInstanceOf(CoordinatorEvent.class);
        last = inbox.take();
      }
      assertThat(last).isEqualTo(new JobView.End(""));
    }
  }

  private static final Duration HOUR = Duration.ofHours(1);

  /** Connections to a coordinator whose messages to it can be dropped. */
  private static final class Relay implements AutoCloseable {
    private final ServerSocket server = new ServerSocket(0, 8, InetAddress.getLoopbackAddress());
    private final int target;
    volatile boolean isSilent;

    Relay(int target) throws IOException {
      this.target = target;
      start(this::accept);
    }

    int port() {
      return server.getLocalPort();
    }

    private interface Body {
      void run() throws IOException;
    }

    private static void start(Body body) {
      Thread thread =
          new Thread(
              () -> {
                try {
                  body.run();
                } catch (IOException e) {
                  return; // a side was closed
                }
              });
      thread.setDaemon(true);
      thread.start();
    }

    private void accept() throws IOException {
      while (true) {
        Socket near = server.accept();
        Socket far = new Socket(InetAddress.getLoopbackAddress(), target);
        boolean wasSilent = isSilent;
        start(() -> copy(near, far, true, wasSilent));
        start(() -> copy(far, near, false, wasSilent));
      }
    }

    private void copy(Socket from, Socket to, boolean isToCoordinator, boolean wasSilent)
        throws IOException {
      byte[] bytes = new byte[4096];
      try (from;
          to) {
        InputStream in = from.getInputStream();
        OutputStream out = to.getOutputStream();
        boolean isDropped = false;
        for (int count = in.read(bytes); count >= 0; count = in.read(bytes)) {
          isDropped |= isToCoordinator && isSilent && !wasSilent;
          if (!isDropped) {
            out.write(bytes, 0, count);
          }
        }
      }
    }

    @Override
    public void close() throws IOException {
      server.close();
    }
  }
}
