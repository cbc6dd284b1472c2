//! The calls of foreign carriers: this daemon has none yet.

use signet_api::{
    ApiError, AttachCarrier, DeliverMessages, FollowTransparency, ListRoutes, MakePoll, Reason,
    ReportParcel, TakeTrust,
};

use super::answer::{Answer, Asker};
use super::heart::Heart;

macro_rules! unknown {
    ($($name:ident),*) => {$(
        impl Answer for $name {
            async fn answer(self, _: &mut Heart, asker: Asker<'_>) {
                let text = "this daemon has no carrier but NATS";
                asker.reply.send(Err(ApiError::refused(Reason::CarrierUnknown, text)));
            }
        }
    )*};
}

unknown!(
    AttachCarrier,
    ReportParcel,
    DeliverMessages,
    MakePoll,
    ListRoutes,
    TakeTrust,
    FollowTransparency
);
