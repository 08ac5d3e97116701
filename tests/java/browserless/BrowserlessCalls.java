import com.nimbusds.oauth2.sdk.AuthorizationGrant;
import com.nimbusds.oauth2.sdk.GeneralException;
import com.nimbusds.oauth2.sdk.auth.Secret;
import com.nimbusds.oauth2.sdk.ciba.CIBAGrant;
import com.nimbusds.oauth2.sdk.device.DeviceCodeGrant;
import com.nimbusds.oauth2.sdk.id.ClientID;
import com.nimbusds.oauth2.sdk.id.Issuer;
import com.nimbusds.oauth2.sdk.util.JSONObjectUtils;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import net.minidev.json.JSONObject;

/** Executes calls in lines of JSON, as tests/js/browserless.mjs does: see there for the lines. */
public final class BrowserlessCalls {
  private final BrowserlessClient client;
  private boolean isHasty;

  private BrowserlessCalls(BrowserlessClient client, boolean isHasty) {
    this.client = client;
    this.isHasty = isHasty;
  }

  public static void main(String[] arguments) throws Exception {
    var lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    var first = JSONObjectUtils.parse(lines.readLine());
    var secret = JSONObjectUtils.getString(first, "clientSecret", null);
    var settings = new BrowserlessClient.Settings(
        new Issuer(JSONObjectUtils.getString(first, "issuer")),
        new ClientID(JSONObjectUtils.getString(first, "clientId")),
        secret == null ? null : new Secret(secret));
    var isHasty = JSONObjectUtils.getBoolean(first, "isHasty", false);
    var calls = new BrowserlessCalls(new BrowserlessClient(settings), isHasty);
    for (var line = lines.readLine(); line != null; line = lines.readLine()) {
      calls.execute(JSONObjectUtils.parse(line));
    }
  }

  private void execute(JSONObject call) throws Exception {
    switch (JSONObjectUtils.getString(call, "call")) {
      case "ask" -> {
        var parameters = JSONObjectUtils.getJSONObject(call, "parameters");
        var request = client.ask(
            JSONObjectUtils.getString(parameters, "login_hint"),
            JSONObjectUtils.getString(parameters, "binding_message"));
        write(Map.of("request", request.toJSONObject()));
        poll(new CIBAGrant(request.getAuthRequestID()), request.getMinWaitInterval());
      }
      case "codes" -> {
        var codes = client.codes();
        write(Map.of("request", codes.toJSONObject()));
        poll(new DeviceCodeGrant(codes.getDeviceCode()), codes.getInterval());
      }
      default -> throw new IllegalArgumentException("no such call: " + call);
    }
  }

  private void poll(AuthorizationGrant grant, long interval) throws Exception {
    try {
      var user = client.poll(grant, interval, error -> polled(grant, error));
      write(Map.of("tokens", user.tokens().toJSONObject(), "claims", user.claims().toJSONObject()));
    } catch (GeneralException failure) {
      if (failure.getErrorObject() == null) throw failure;
      write(Map.of("error", failure.getErrorObject().getCode()));
    }
  }

  private void polled(AuthorizationGrant grant, String error) {
    write(Map.of("polled", error));
    if (!isHasty) return;
    isHasty = false;
    try {
      write(Map.of("polled", JSONObjectUtils.getString(client.pollOnce(grant).getBodyAsJSONObject(), "error")));
    } catch (Exception failure) {
      throw new IllegalStateException(failure);
    }
  }

  private static void write(Map<String, Object> line) {
    System.out.println(new JSONObject(line).toJSONString());
  }
}
