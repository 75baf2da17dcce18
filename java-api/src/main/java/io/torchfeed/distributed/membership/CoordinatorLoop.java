// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed.membership;

import io.torchfeed.distributed.membership.CoordinatorEvent.Kind;
import io.torchfeed.internal.AwakeClock;
import io.torchfeed.internal.Quotes;
import io.torchfeed.internal.Refusals;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** The thread of a coordinator: it takes messages to the {@link Roster} and back. */
final class CoordinatorLoop implements Roster.Wire {
  /** A connection that has not named its job by then, or has not ended by then, is closed. */
  private static final Duration PATIENCE = Duration.ofSeconds(10);

  /** The same for one that has not proved that it knows the secret; members connect again. */
  private static final Duration PROOF = Duration.ofSeconds(1);

  /** The connections before their greeting that are open at a time; more wait to be accepted. */
  private static final int MAX_STRANGERS = 256;

  /** The part of the limit of silence by which this thread is late if it runs no sooner. */
  private static final int LATE = 4;

  /** The signs of life that members give within the limit of silence. */
  private static final int BEATS = 5;

  private final Selector selector;
  private final ServerSocketChannel server;
  private final String job;
  private final CoordinatorOptions options;
  private final Consumer<CoordinatorEvent> events;
  private final Roster roster;
  private final Refusals refusals;
  private final AwakeClock clock;
  private final Thread thread = new Thread(this::run, "torchfeed-coordinator");
  private final CountDownLatch over = new CountDownLatch(1);
  private final Map<Long, Connection> connections = new HashMap<>();
  private final Set<Connection> strangers = new LinkedHashSet<>();
  private final Set<Connection> ending = new HashSet<>();
  private final List<Runnable> afterwards = new ArrayList<>();
  private final ByteBuffer received = ByteBuffer.allocateDirect(1 << 16);
  private final SelectionKey accepting;
  private final int port;
  private boolean cannotAccept;
  private boolean isRefusalNoted;
  private long nextId;
  private volatile int generation;
  private volatile boolean isClosed;
  private volatile @Nullable RuntimeException failure;

  CoordinatorLoop(InetSocketAddress address, CoordinatorOptions options) throws IOException {
    this.job = options.job().orElse(CoordinatorOptions.UNNAMED_JOB);
    this.options = options;
    this.events = options.events().orElse(event -> {});
    this.clock = new AwakeClock(options.silence().toNanos() / LATE, System::nanoTime);
    this.roster = new Roster(options, this, events, clock.now());
    this.refusals = new Refusals(this::noteRefused, clock.now());
    this.selector = Selector.open();
    this.server = ServerSocketChannel.open();
    try {
      server.setOption(StandardSocketOptions.SO_REUSEADDR, true);
      server.bind(address, 4096);
      server.configureBlocking(false);
      accepting = server.register(selector, SelectionKey.OP_ACCEPT);
      port = ((InetSocketAddress) server.getLocalAddress()).getPort();
    } catch (IOException | RuntimeException e) {
      closeChannels();
      throw e;
    }
  }

  void start() {
    thread.setDaemon(true);
    thread.start();
  }

  int port() {
    return port;
  }

  int generation() {
    return generation;
  }

  void await() throws InterruptedException {
    over.await();
    RuntimeException thrown = failure;
    if (thrown != null) {
      throw thrown;
    }
  }

  void close() {
    isClosed = true;
    selector.wakeup();
    boolean wasInterrupted = false;
    while (thread.isAlive() && Thread.currentThread() != thread) {
      try {
        thread.join();
      } catch (InterruptedException e) {
        wasInterrupted = true; // the thread ends without waiting for anybody
      }
    }
    if (wasInterrupted) {
      Thread.currentThread().interrupt();
    }
  }

  private void run() {
    try {
      long tickMillis = Math.max(1, options.silence().toMillis() / (2 * BEATS));
      long patience = Member.PATIENCE * options.silence().toNanos();
      long next = clock.now();
      while (!isClosed) {
        selector.select(this::handle, tickMillis);
        long now = clock.now();
        if (now - next >= 0) { // not at each message: it looks at all members
          // This thread may have stood still: messages that arrived meanwhile are signs of life.
          selector.selectNow(this::handle);
          roster.tick(now, clock.wasLate(patience));
          closeSilent(now);
          refusals.tick(now);
          cannotAccept = false; // perhaps
          next = now + TimeUnit.MILLISECONDS.toNanos(tickMillis);
        }
        runAfterwards();
        boolean mayAccept = !cannotAccept && strangers.size() < MAX_STRANGERS;
        accepting.interestOps(mayAccept ? SelectionKey.OP_ACCEPT : 0);
        generation = roster.generation();
        if (roster.isOver()) {
          settle();
        }
      }
    } catch (Throwable e) { // of a listener, or a lack of memory
      failure = new IllegalStateException("the coordinator failed: " + e, e);
    } finally {
      if (!roster.isOver() && failure == null) {
        failure =
            new MembershipEndedException(
                MembershipEndedException.Reason.COORDINATOR_LOST, "the coordinator was closed");
      }
      closeChannels();
      over.countDown();
    }
  }

  /** Ends the waits for the end of the job; the thread continues, for those that come late. */
  private void settle() {
    String reason = roster.failure();
    if (reason != null && failure == null) {
      failure =
          new MembershipEndedException(
              MembershipEndedException.Reason.FAILED, "the job has failed: " + reason);
    }
    over.countDown();
  }

  private void closeChannels() {
    try {
      for (SelectionKey key : selector.keys()) { // also those that are dropped but not yet written
        key.channel().close();
      }
      server.close();
      selector.close();
    } catch (IOException e) {
      // nothing is left to be lost
    }
  }

  private void handle(SelectionKey key) {
    if (key.isValid() && key.isAcceptable()) {
      accept();
    } else if (key.attachment() instanceof Connection connection) {
      serve(connection, key);
    }
  }

  private void accept() {
    try {
      SocketChannel channel;
      while (strangers.size() < MAX_STRANGERS && (channel = server.accept()) != null) {
        add(channel);
        isRefusalNoted = false;
      }
    } catch (IOException e) { // too many open files, for example: the connection waits
      cannotAccept = true; // until the next tick, or this would be a loop
      if (!isRefusalNoted) {
        isRefusalNoted = true;
        noteRefused("connections cannot be accepted, and wait until they can: " + e.getMessage());
      }
    }
  }

  private void add(SocketChannel channel) throws IOException {
    try {
      channel.configureBlocking(false);
      channel.setOption(StandardSocketOptions.TCP_NODELAY, true);
      SelectionKey key = channel.register(selector, SelectionKey.OP_READ);
      long id = nextId++;
      @Nullable JobSecret secret = options.secret().orElse(null);
      Connection connection = new Connection(id, channel, key, clock.now(), secret);
      key.attach(connection);
      strangers.add(connection);
      connection.greet();
    } catch (IOException e) {
      channel.close(); // its other end has gone already
    }
  }

  private void serve(Connection connection, SelectionKey key) {
    try {
      if (key.isValid() && key.isWritable()) {
        connection.write();
      }
      if (connection.isEnding()) {
        if (key.isValid() && key.isReadable() && !connection.discard()) {
          forget(connection);
        }
      } else if (key.isValid() && key.isReadable()) {
        connection.read(received);
        if (!connection.isTrusted()) {
          connection.admit(received);
        }
        Optional<Message> message =
            connection.isTrusted() ? connection.next(received) : Optional.empty();
        while (message.isPresent()) {
          received(connection, message.get());
          message = connection.isEnding() ? Optional.empty() : connection.next(received);
        }
      }
    } catch (IOException | IllegalArgumentException e) {
      lost(connection, String.valueOf(e.getMessage()));
    }
  }

  private void received(Connection connection, Message message) throws IOException {
    if (connection.isMember) {
      roster.received(connection.id, message, clock.now());
      return;
    }
    if (!(message instanceof Message.Hello hello)) {
      throw new IOException("its first message is not a greeting");
    }
    if (!hello.job().equals(job)) {
      String text = "this is the coordinator of job " + job + ", not of " + hello.job();
      connection.send(new Message.Ended(MembershipEndedException.Reason.FAILED, text));
      strangers.remove(connection);
      end(connection);
      refusals.add(hello.name() + " belongs to job " + hello.job(), clock.now());
      return;
    }
    connection.isMember = true;
    strangers.remove(connection);
    connections.put(connection.id, connection);
    int limit = Math.toIntExact(options.silence().toMillis());
    connection.send(new Message.Welcome(connection.id, Math.max(1, limit / BEATS), limit));
    roster.connected(connection.id, Quotes.printable(hello.name()), clock.now());
  }

  private void lost(Connection connection, String reason) {
    forget(connection);
    if (strangers.remove(connection)) {
      refusals.add("a stranger: " + reason, clock.now());
    } else if (connections.remove(connection.id) != null) {
      roster.gone(connection.id, reason, clock.now());
    }
  }

  private void closeSilent(long now) {
    for (Connection each : List.copyOf(strangers)) {
      Duration limit = each.isTrusted() ? PATIENCE : PROOF;
      if (now - each.since > limit.toNanos()) {
        String missing = each.isTrusted() ? "greeting" : "proof of the secret";
        lost(each, "no %s within %d s".formatted(missing, limit.toSeconds()));
      }
    }
    for (Connection each : List.copyOf(ending)) {
      if (each.endingFor(now) > PATIENCE.toNanos()) {
        forget(each);
      }
    }
  }

  @Override
  public void send(long id, Message message) {
    Connection connection = connections.get(id);
    if (connection == null) {
      return;
    }
    try {
      connection.send(message);
    } catch (IOException e) {
      // The roster is in the middle of a change: it learns of the loss when that is complete.
      afterwards.add(() -> lost(connection, String.valueOf(e.getMessage())));
    }
  }

  @Override
  public void drop(long id) {
    Connection connection = connections.remove(id);
    if (connection != null) {
      end(connection);
    }
  }

  private void end(Connection connection) {
    ending.add(connection);
    try {
      connection.end(clock.now());
    } catch (IOException e) {
      forget(connection); // it is to be closed anyway
    }
  }

  private void forget(Connection connection) {
    ending.remove(connection);
    connection.close();
  }

  private void runAfterwards() {
    while (!afterwards.isEmpty()) {
      List<Runnable> now = List.copyOf(afterwards);
      afterwards.clear();
      now.forEach(Runnable::run);
    }
  }

  private void noteRefused(String text) {
    String printable = Quotes.printable(text);
    events.accept(new CoordinatorEvent(Kind.REFUSED, roster.generation(), printable, List.of()));
  }
}
