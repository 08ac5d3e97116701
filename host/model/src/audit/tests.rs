use super::*;

#[test]
fn events_and_actors_round_trip_through_their_names() {
    for event in Event::ALL {
        assert_eq!(Event::parse(event.as_str()), Some(event));
    }
    let id = [7; 16];
    let actors = [
        Actor::Server,
        Actor::AdminToken(TokenId::from_bytes(id)),
        Actor::User(UserId::from_bytes(id)),
        Actor::Device(DeviceId::from_bytes(id)),
        Actor::Application(Did::from_ed25519(&[7; 32])),
        Actor::Channel("vendor".to_owned()),
    ];
    for actor in actors {
        assert_eq!(
            Actor::parse(actor.kind(), actor.id().as_deref()),
            Some(actor)
        );
    }
    assert_eq!(Actor::parse("person", None), None);
}
